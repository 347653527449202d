package gossip

import (
	"slices"

	"weir/crdt"
)

// withheld is what of this region's gifts no other node may be told yet: those
// that this node's disk does not hold. Were they told and then forgotten, the
// region would spend what another had received: also where a node of the own
// region is told, in a message that comes when the region has begun anew without
// this node's gift. Only in an exchange all is told, before that. It holds rows
// of the table, and so never more than that.
type withheld struct {
	rows map[crdt.RowID][]withheldEntry
	// marks grows with every gift that is withheld.
	marks uint64
	// room for durable.
	entries []crdt.Entry
}

// withheldEntry is an entry with gifts that no disk holds, and how it last was
// without them: others are told that instead. Version 0 stands for nothing.
type withheldEntry struct {
	replica crdt.Replica
	durable crdt.Entry
}

func newWithheld() withheld { return withheld{rows: make(map[crdt.RowID][]withheldEntry)} }

func find(list []withheldEntry, r crdt.Replica) int {
	return slices.IndexFunc(list, func(w withheldEntry) bool { return w.replica == r })
}

// add withholds an entry; before is how it last was.
func (w *withheld) add(id crdt.RowID, before crdt.Entry, r crdt.Replica) {
	w.marks++
	if list := w.rows[id]; find(list, r) < 0 {
		w.rows[id] = append(list, withheldEntry{replica: r, durable: before})
	}
}

// release says whether the entry was withheld.
func (w *withheld) release(id crdt.RowID, r crdt.Replica) bool {
	list := w.rows[id]
	i := find(list, r)
	switch {
	case i < 0:
		return false
	case len(list) == 1:
		delete(w.rows, id)
	default:
		w.rows[id] = slices.Delete(list, i, i+1)
	}
	return true
}

// forget lets go of a row that ended.
func (w *withheld) forget(id crdt.RowID) { delete(w.rows, id) }

// durable returns what others may be told of a row's entries. It stands until the
// next call.
func (w *withheld) durable(id crdt.RowID, entries []crdt.Entry) []crdt.Entry {
	list := w.rows[id]
	if len(list) == 0 {
		return entries
	}
	w.entries = w.entries[:0]
	for _, e := range entries {
		if i := find(list, e.Replica); i >= 0 {
			e = list[i].durable
		}
		if e.Version > 0 {
			w.entries = append(w.entries, e)
		}
	}
	return w.entries
}

// withhold judges an entry of the own region that was merged. known says that its
// gifts may be told.
func (c *Core) withhold(id crdt.RowID, before, e crdt.Entry, known bool) {
	now, _ := c.rows.Entry(id, e.Replica)
	switch {
	case known && now.Gifts == e.Gifts:
		if c.withheld.release(id, e.Replica) {
			c.news.add(id, e.Replica) // what it counted since
		}
	case now.Gifts != before.Gifts:
		c.withheld.add(id, before, e.Replica)
	}
}

// MarkDurable takes rows, as TakeUnsaved gave them, that are now on this node's
// disk to stay: others may be told of the gifts in them, and are with the
// next tick. A row that gave more meanwhile is told as it was saved. What a node
// never marks it never tells, except in an exchange.
func (c *Core) MarkDurable(rows []*crdt.Row) {
	for _, row := range rows {
		if len(c.withheld.rows) == 0 {
			return
		}
		if slices.ContainsFunc(row.Entries(), c.gives) {
			c.markDurable(row)
		}
	}
}

// gives says whether an entry is of this region and names gifts.
func (c *Core) gives(e crdt.Entry) bool { return e.Gifts != "" && e.Replica.Region == c.region }

func (c *Core) markDurable(row *crdt.Row) {
	id := row.Name().ID()
	for _, saved := range row.Entries() {
		list := c.withheld.rows[id]
		i := find(list, saved.Replica)
		if i < 0 {
			continue
		}
		now, _ := c.rows.Entry(id, saved.Replica)
		switch {
		case now.Gifts == saved.Gifts:
			c.withheld.release(id, saved.Replica)
		case saved.Version > list[i].durable.Version:
			list[i].durable = saved
		}
		c.news.add(id, saved.Replica)
	}
}

// Withheld is how many rows have gifts that others are not told yet.
func (c *Core) Withheld() int { return len(c.withheld.rows) }

// GiftMarks grows whenever a gift is withheld that was not: it is to be saved.
func (c *Core) GiftMarks() uint64 { return c.withheld.marks }
