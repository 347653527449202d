package gossip

import (
	"errors"
	"time"

	"weir/crdt"
)

var (
	// ErrEnded: the row's period ended more than a minute ago, and counts
	// nowhere.
	ErrEnded = errors.New("the row's period has ended")
	// ErrFuture: the row's period begins more than 40 days ahead.
	ErrFuture = errors.New("the row's period begins too far ahead")
	// ErrRegions: the entry is of a region, or gives to one, past the bound on
	// regions.
	ErrRegions = errors.New("too many regions")
)

// Record takes in what this node's region counted and says whether it was new.
// id is name.ID(). An error says that it was refused, which is counted: it is
// ErrEnded, ErrFuture, ErrRegions, crdt.ErrFull or crdt.ErrEntries, or wraps
// crdt.ErrName or crdt.ErrEntry.
func (c *Core) Record(id crdt.RowID, name crdt.RowName, e crdt.Entry) (changed bool, err error) {
	held := c.rows.Len()
	changed, err = c.take(id, name, e, false)
	if changed {
		c.note(id, e.Replica, c.rows.Len() > held)
	}
	return changed, err
}

// Restore takes in what this node had saved, as Record does. It is not news:
// peers ask for it. Its gifts are durable.
func (c *Core) Restore(id crdt.RowID, name crdt.RowName, e crdt.Entry) (changed bool, err error) {
	return c.take(id, name, e, true)
}

func (c *Core) take(id crdt.RowID, name crdt.RowName, e crdt.Entry, saved bool) (changed bool, err error) {
	if err = name.Validate(); err == nil {
		err = e.Validate()
	}
	if err != nil {
		c.counters.RefusedInvalid++
		return false, err
	}
	if err := c.accepts(name); err != nil {
		return false, err
	}
	return c.merge(&inboundRow{id: id, name: name, named: true}, e, saved)
}

// mergeRow takes in a row of a frame. What is refused is counted.
func (c *Core) mergeRow(now time.Duration, p *peer, in *Inbound, row *inboundRow) {
	if !c.acceptsRow(now, p, row) {
		return
	}
	held := c.rows.Len()
	for _, e := range row.entries {
		changed, _ := c.merge(row, e, c.isTold(p, in))
		if !changed {
			continue
		}
		c.counters.EntriesNew++
		if in.repair {
			c.noteRepaired(now, p, row.id, e.Replica)
		} else {
			c.note(row.id, e.Replica, c.rows.Len() > held)
		}
	}
	if p != nil && in.reply != nil && in.reply.session == p.session.number {
		c.compareReplied(p, row)
	}
}

// acceptsRow says whether a row of a frame may be counted, and whether it can
// be: it has a name, or is known.
func (c *Core) acceptsRow(now time.Duration, p *peer, row *inboundRow) bool {
	if row.named {
		return c.accepts(row.name) == nil
	}
	span, known := c.rows.SpanOf(row.id)
	switch {
	case !known:
		c.missName(now, p, row.id)
	case c.endedAt(span.End):
		c.counters.RefusedEnded++
	default:
		return true
	}
	return false
}

// compareReplied looks at a row that answered a request: where this node has
// more of it than came, the peer gets it.
func (c *Core) compareReplied(p *peer, row *inboundRow) {
	p.session.fruitful = true
	if d := c.rows.RowDigest(row.id); d != 0 && d != crdt.Digest(row.id, row.entries) {
		c.owe(p, row.id)
	}
}

// note marks a row as changed: to be told, to be saved. A fresh one is new here:
// others are told its name.
func (c *Core) note(id crdt.RowID, r crdt.Replica, fresh bool) {
	c.news.add(id, r)
	if fresh {
		c.fresh.add(id)
	}
	c.noteSaved(id, r)
}

// noteSaved marks a row as to be saved, and to be looked at.
func (c *Core) noteSaved(id crdt.RowID, r crdt.Replica) {
	c.unsaved.add(id, r)
	if c.watch {
		c.watched.add(id, r)
	}
}

// accepts says whether a row's period may be counted now: late entries count
// nowhere.
func (c *Core) accepts(name crdt.RowName) error {
	switch {
	case c.ended(name):
		c.counters.RefusedEnded++
		return ErrEnded
	case name.Start > c.nowUnix+maxFutureSeconds:
		c.counters.RefusedFuture++
		return ErrFuture
	}
	return nil
}

func (c *Core) ended(name crdt.RowName) bool { return c.endedAt(name.End) }

func (c *Core) endedAt(end int64) bool { return end <= c.nowUnix-periodGraceSeconds }

// merge takes in a valid entry. known says that its gifts may be told to others.
func (c *Core) merge(row *inboundRow, e crdt.Entry, known bool) (changed bool, err error) {
	if !c.learnRegions(e) {
		c.counters.RefusedRegions++
		return false, ErrRegions
	}
	var before crdt.Entry
	if c.gives(e) {
		before, _ = c.rows.Entry(row.id, e.Replica)
	}
	if row.named {
		changed, err = c.rows.Merge(row.id, row.name, e)
	} else {
		changed, _, err = c.rows.MergeKnown(row.id, e)
	}
	switch {
	case errors.Is(err, crdt.ErrFull):
		c.counters.RefusedFull++
	case errors.Is(err, crdt.ErrEntries):
		c.counters.RefusedReplicas++
	}
	if changed {
		c.changed++
	}
	if err == nil && c.gives(e) {
		c.withhold(row.id, before, e, known)
	}
	return changed, err
}

// isTold says whether the gifts of a frame are told to others without this
// node's disk: another region knows of them, or this node has no disk and a node
// of its region has them on its own, as it would not have told them otherwise
// but in an exchange.
func (c *Core) isTold(p *peer, in *Inbound) bool {
	if in.region != c.region {
		return true
	}
	if !c.diskless || p == nil {
		return false
	}
	return in.reply == nil || (in.reply.session == p.session.number && p.session.exchange == 0)
}

// learnRegions numbers the regions an entry names: the table, too, numbers those
// that gifts go to for good, so what is past the bound never gets there.
func (c *Core) learnRegions(e crdt.Entry) bool {
	if !c.regions.learn(e.Replica.Region) {
		return false
	}
	for to := range e.Gifts.All() {
		if !c.regions.learn(to) {
			return false
		}
	}
	return true
}

// HasRoom says whether the row is held, or could be: the bound on rows is not
// reached.
func (c *Core) HasRoom(id crdt.RowID) bool { return c.rows.HasRoom(id) }

// Generation is the newest generation known of the row that has this ID in
// generation 0.
func (c *Core) Generation(first crdt.RowID) uint32 { return c.rows.Generation(first) }

// isFull says whether there is no room for further rows.
func (c *Core) isFull() bool { return c.rows.Len() >= c.maxRows }

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
