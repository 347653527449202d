package gossip

import (
	"time"

	"weir/crdt"
)

// news is rows that changed and are to be told, in frames.
type news struct {
	changes
	// With the current tick: rows and frames that may still be begun.
	rowsLeft, framesLeft int
	open                 *batch // being encoded
}

// begin allows what changed so far, up to the frames of one tick: what changes
// meanwhile is next tick's.
func (n *news) begin() { n.rowsLeft, n.framesLeft = n.len(), maxDeltaFrames }

// drop forgets everything.
func (n *news) drop() {
	n.clear()
	n.rowsLeft, n.open = 0, nil
}

// pending says whether something is to be told with the current tick.
func (n *news) pending() bool { return n.open != nil || (n.rowsLeft > 0 && n.framesLeft > 0) }

// encode encodes as many rows as one call may, and returns the batch once it is
// whole; it may be empty.
func (c *Core) encode(n *news) (whole *batch) {
	if n.open == nil {
		n.framesLeft--
		n.open = &batch{}
	}
	b := n.open
	for range stepRows {
		id, replica, ok := n.peek()
		if !ok || n.rowsLeft == 0 || !c.encodeRow(b, id, replica) {
			n.open = nil
			b.seal()
			return b
		}
		n.pop()
		n.rowsLeft--
	}
	return nil
}

// encodeRow adds a row to a batch and says whether there was room.
func (c *Core) encodeRow(b *batch, id crdt.RowID, replica crdt.Replica) bool {
	if !c.rows.Row(id, &c.row) || c.ended(c.row.Name()) {
		return true
	}
	row := c.encodeEntries(b, id, c.withheld.durable(id, c.row.Entries()), replica)
	if !b.hasRoom(row) {
		return false
	}
	b.add(id, row)
	return true
}

// encodeEntries encodes the row in c.row with these entries, into room that is
// used again.
func (c *Core) encodeEntries(b *batch, id crdt.RowID, entries []crdt.Entry, only crdt.Replica) encodedRows {
	room := &c.encoded
	room.named, room.deltas = room.named[:0], room.deltas[:0]
	if c.fresh.has(id) {
		room.named = c.encoder.append(room.named, c.row.Name(), entries, only, c.regions.index)
	} else {
		room.deltas = b.replicas.appendDelta(room.deltas, id, entries, only, c.regions.index)
	}
	return *room
}

// stepNews works at what is to be told, and says whether there was anything.
func (c *Core) stepNews(now time.Duration) bool {
	if c.news.pending() {
		if b := c.encode(&c.news); b != nil && len(b.ids) > 0 {
			for _, p := range c.peers {
				if p.chosen {
					p.owed = b
				}
			}
		}
		return true
	}
	for _, region := range c.regions.names {
		n := c.again[region]
		if n == nil || !n.pending() {
			continue
		}
		if p := c.standIn(now, region); p != nil {
			if b := c.encode(n); b != nil && len(b.ids) > 0 {
				c.counters.RowsToldAgain += uint64(len(b.ids))
				p.owed = b
			}
			return true
		}
	}
	return false
}

// standIn is the peer of a region that is told what did not reach another, if
// one can be reached.
func (c *Core) standIn(now time.Duration, region string) (found *peer) {
	for _, p := range c.peers {
		if p.Region == region && !p.inTrouble(now) && (found == nil || p.chosen) {
			found = p
		}
	}
	return found
}
