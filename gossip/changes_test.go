package gossip

import (
	"bytes"
	"fmt"
	"slices"
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

// TestChangedRowsAreTakenOnce, past what is taken under one hold of the lock.
func TestChangedRowsAreTakenOnce(t *testing.T) {
	cfg := testConfig("eu-1", "eu")
	cfg.Watch = true
	m := open(t, cfg)
	const rows = 2*pageRows + 3
	for i := range rows {
		m.Record(testName(fmt.Sprint("key-", i)), testEntry("eu", 1))
	}
	ids := m.TakeChanged(nil, rows-2)
	if len(ids) != rows-2 {
		t.Errorf("took %d rows, want %d", len(ids), rows-2)
	}
	if ids = m.TakeChanged(ids, rows); len(ids) != rows {
		t.Errorf("took %d rows in all, want %d", len(ids), rows)
	}
	slices.SortFunc(ids, func(a, b crdt.RowID) int { return bytes.Compare(a[:], b[:]) })
	if n := len(slices.Compact(ids)); n != rows {
		t.Errorf("%d rows are among them, want %d", n, rows)
	}
}
