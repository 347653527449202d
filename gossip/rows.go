package gossip

import (
	"errors"

	"weir/crdt"
)

// Record takes in what this node's region counted and says whether it was new.
// What is refused (an ended period, no room, numbers that break the rules) is
// counted.
func (c *Core) Record(name crdt.RowName, e crdt.Entry) bool {
	if name.Validate() != nil || e.Validate() != nil {
		c.counters.RefusedInvalid++
		return false
	}
	id := name.ID()
	return c.accepts(name) && c.merge(id, name, e) && c.note(id, e.Replica)
}

// Restore takes in what this node had saved. It is not news: peers ask for it.
func (c *Core) Restore(name crdt.RowName, e crdt.Entry) bool {
	if name.Validate() != nil || e.Validate() != nil {
		c.counters.RefusedInvalid++
		return false
	}
	return c.accepts(name) && c.merge(name.ID(), name, e)
}

func (c *Core) mergeRow(row *inboundRow) {
	if !c.accepts(row.name) {
		return
	}
	for _, e := range row.entries {
		if c.merge(row.id, row.name, e) {
			c.counters.EntriesNew++
			c.note(row.id, e.Replica)
		}
	}
}

// note marks a row as changed: to be told, to be saved.
func (c *Core) note(id crdt.RowID, r crdt.Replica) bool {
	c.dirty.add(id, r)
	c.unsaved.add(id, r)
	return true
}

// accepts says whether a row's period may be counted now: late entries count
// nowhere.
func (c *Core) accepts(name crdt.RowName) bool {
	switch {
	case c.ended(name):
		c.counters.RefusedEnded++
		return false
	case name.Start > c.nowUnix+maxFutureSeconds:
		c.counters.RefusedFuture++
		return false
	}
	return true
}

func (c *Core) ended(name crdt.RowName) bool { return name.End <= c.nowUnix-periodGraceSeconds }

func (c *Core) merge(id crdt.RowID, name crdt.RowName, e crdt.Entry) bool {
	if !c.regions.learn(e.Replica.Region) {
		c.counters.RefusedRegions++
		return false
	}
	changed, err := c.rows.Merge(id, name, e)
	switch {
	case errors.Is(err, crdt.ErrFull):
		c.counters.RefusedFull++
	case errors.Is(err, crdt.ErrEntries):
		c.counters.RefusedReplicas++
	}
	if changed {
		c.changed++
	}
	return changed
}

// Len is how many rows the core holds.
func (c *Core) Len() int { return c.rows.Len() }

// Changes counts the entries that were new so far.
func (c *Core) Changes() uint64 { return c.changed }

// Row copies a row into dst, whose room it reuses, and says whether it is
// known.
func (c *Core) Row(id crdt.RowID, dst *crdt.Row) bool { return c.rows.Row(id, dst) }

// Places and At walk over all rows: see crdt.Table.
func (c *Core) Places() uint32 { return c.rows.Slots() }

// At copies the row at a place into dst and says whether there is one.
func (c *Core) At(place uint32, dst *crdt.Row) bool { return c.rows.At(place, dst) }

// TakeUnsaved returns up to limit rows that changed since they were last taken,
// and forgets that they did. The rows are the caller's; if it fails to save
// them it gives their IDs to MarkUnsaved.
func (c *Core) TakeUnsaved(limit int) []*crdt.Row {
	out := make([]*crdt.Row, 0, min(limit, c.unsaved.len()))
	for len(out) < limit {
		id, _, ok := c.unsaved.peek()
		if !ok {
			break
		}
		c.unsaved.pop()
		row := new(crdt.Row)
		if c.rows.Row(id, row) && !c.ended(row.Name()) {
			out = append(out, row)
		}
	}
	return out
}

// MarkUnsaved marks rows as to be saved.
func (c *Core) MarkUnsaved(ids ...crdt.RowID) {
	for _, id := range ids {
		if c.rows.Has(id) {
			c.unsaved.add(id, wholeRow)
		}
	}
}

// Unsaved is how many rows wait to be saved.
func (c *Core) Unsaved() int { return c.unsaved.len() }
