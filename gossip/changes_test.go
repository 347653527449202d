package gossip

import (
	"fmt"
	"testing"

	"weir/crdt"
)

// A disk that stays full: rows are taken to be saved and come back, while the
// list is never empty.
func TestChangesThatComeBackTakeNoMoreRoom(t *testing.T) {
	const rows, taken = 2001, 1000
	c := newChanges()
	for i := range rows {
		c.add(testName(fmt.Sprint(i)).ID(), wholeRow)
	}
	for range 1000 {
		var back []crdt.RowID
		for range taken {
			id, _, _ := c.peek()
			c.pop()
			back = append(back, id)
		}
		for _, id := range back {
			c.add(id, wholeRow)
		}
	}
	if c.len() != rows || cap(c.order) > 4*rows {
		t.Fatalf("%d rows take room for %d, want %d in at most %d", c.len(), cap(c.order), rows, 4*rows)
	}
	seen := map[string]bool{}
	for id, _, ok := c.peek(); ok; id, _, ok = c.peek() {
		c.pop()
		seen[string(id[:])] = true
	}
	if len(seen) != rows || c.len() != 0 {
		t.Fatalf("%d rows came out, %d left", len(seen), c.len())
	}
}
