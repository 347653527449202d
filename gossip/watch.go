package gossip

import "weir/crdt"

// TakeChanged appends to dst up to limit rows that changed since they were last
// taken, and forgets that they did: for whoever looks at changes one by one. A
// core that was not made to watch has none.
func (c *Core) TakeChanged(dst []crdt.RowID, limit int) []crdt.RowID {
	for ; limit > 0; limit-- {
		id, _, ok := c.watched.peek()
		if !ok {
			break
		}
		c.watched.pop()
		dst = append(dst, id)
	}
	return dst
}
