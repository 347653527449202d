package gossip

import (
	"time"

	"weir/crdt"
)

// owe notes that a peer lacks a row, or something of it. What is past the bound
// it finds by a session, which its new stream makes it begin.
func (c *Core) owe(p *peer, id crdt.RowID) {
	if p.owedRows.len() >= maxToldRows {
		c.counters.RepairsDropped++
		p.owedRows.clear()
		p.out = c.newStream()
		return
	}
	if c.rows.Has(id) {
		p.owedRows.add(id, wholeRow)
		c.urgent = true
	}
}

// repair is a frame of rows that one peer lacks, being made.
type repair struct {
	to    string // empty: none is
	rows  []byte
	count int
}

// nextRepair works at the next frame of rows owed to a peer, and says whether
// there is more to do.
func (c *Core) nextRepair(now time.Duration) (m Message, more bool) {
	r := &c.repair
	p := c.byName[r.to]
	if p == nil || r.to == "" {
		if p = c.nextPeer(func(p *peer) bool { return p.owedRows.len() > 0 && c.mayRepair(p) }); p == nil {
			c.repair = repair{}
			return Message{}, false
		}
		*r = repair{to: p.Name}
	}
	if !c.encodeRepair(p) {
		return Message{}, true
	}
	rows, count := r.rows, r.count
	c.repair = repair{}
	if count == 0 {
		return Message{}, true
	}
	c.counters.RowsRepaired += uint64(count)
	return c.sendRepair(now, p, c.frame(now, p), rows, count), true
}

// encodeRepair encodes as many rows as one call may, and says whether the frame
// is whole.
func (c *Core) encodeRepair(p *peer) bool {
	r := &c.repair
	for range stepRows / 2 {
		id, _, ok := p.owedRows.peek()
		if !ok {
			return true
		}
		if c.rows.Row(id, &c.row) && !c.ended(c.row.Name()) {
			end := len(r.rows)
			r.rows = c.encoder.append(r.rows, c.row.Name(), c.entriesFor(p, false), wholeRow, c.regions.index)
			if len(r.rows) > maxRowsBytes && r.count > 0 {
				r.rows = r.rows[:end]
				return true
			}
			if len(r.rows) > end {
				r.count++
			}
		}
		p.owedRows.pop()
	}
	return false
}

// missName notes that a peer told of a row that has no name here.
func (c *Core) missName(now time.Duration, p *peer, id crdt.RowID) {
	switch {
	case p == nil: // it is no peer yet; once it is, a session begins
	case c.isFull():
		c.counters.RefusedFull++
	case p.unknown.len() >= maxUnknown:
		p.unknown.clear()
		p.session.want(now)
	default:
		p.unknown.add(id, wholeRow)
		c.urgent = true
	}
}

// nextUnknown asks a peer for the rows it told of that have no name here.
func (c *Core) nextUnknown(now time.Duration) (m Message, more bool) {
	p := c.nextPeer(func(p *peer) bool { return p.unknown.len() > 0 })
	if p == nil {
		return Message{}, false
	}
	var ids []byte
	for id, _, ok := p.unknown.peek(); ok; id, _, ok = p.unknown.peek() {
		p.unknown.pop()
		if !c.rows.Has(id) { // it may have come meanwhile
			ids = append(ids, id[:]...)
			c.counters.RowsUnknown++
		}
	}
	if len(ids) == 0 {
		return Message{}, true
	}
	return c.send(now, p, appendMessage(c.frame(now, p), frameUnknown, ids), nil, 0), true
}

// noteRepaired marks a row of a repair that was new here: to be saved; and as
// news, for others may have missed it, too. Where it is many, others are made to
// look for themselves once no more comes: that costs what they lack, not what was
// repaired here.
func (c *Core) noteRepaired(now time.Duration, p *peer, id crdt.RowID, r crdt.Replica) {
	c.noteSaved(id, r)
	if p != nil {
		p.repaired++
		p.repairedAt = now
		if p.repaired > maxRepairNews {
			p.untold = true
			return
		}
	}
	c.news.add(id, r)
}

// endRepairs notices that repairs have come to their end.
func (c *Core) endRepairs(now time.Duration) {
	for _, p := range c.peers {
		if p.repaired == 0 || now-p.repairedAt < repairQuiet {
			continue
		}
		if p.untold {
			for _, other := range c.peers {
				if other != p {
					other.out = c.newStream()
				}
			}
		}
		p.repaired, p.untold = 0, false
	}
}
