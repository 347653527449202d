package gossip

import "weir/crdt"

// wholeRow stands for all replicas of a row.
var wholeRow crdt.Replica

// changes is the set of rows that changed, in order of their first change. It
// holds each row once and so never more than the table does.
type changes struct {
	order []crdt.RowID
	head  int
	// The replica whose entry changed; wholeRow if several did.
	replica map[crdt.RowID]crdt.Replica
}

func newChanges() changes { return changes{replica: make(map[crdt.RowID]crdt.Replica)} }

func (c *changes) len() int { return len(c.replica) }

func (c *changes) add(id crdt.RowID, r crdt.Replica) {
	have, known := c.replica[id]
	switch {
	case !known:
		c.order = append(c.order, id)
		c.replica[id] = r
	case have != r:
		c.replica[id] = wholeRow
	}
}

// peek returns the row that changed first.
func (c *changes) peek() (id crdt.RowID, r crdt.Replica, ok bool) {
	if c.head == len(c.order) {
		return crdt.RowID{}, wholeRow, false
	}
	id = c.order[c.head]
	return id, c.replica[id], true
}

// pop forgets the row that peek returned.
func (c *changes) pop() {
	delete(c.replica, c.order[c.head])
	c.head++
	// Rows that are taken and come back before the list is ever empty must not
	// make it grow: no more is moved than was popped since it last was.
	if c.head > len(c.order)/2 {
		c.order = c.order[:copy(c.order, c.order[c.head:])]
		c.head = 0
	}
}

func (c *changes) clear() {
	c.order, c.head = c.order[:0], 0
	clear(c.replica)
}
