package crdt

import "testing"

// TestGenerations: the newest is known for as long as its row is held.
func TestGenerations(t *testing.T) {
	table := NewTable(10)
	name := RowName{Rule: "daily", Key: "k", Start: 0, End: 100}
	first := name.ID()
	e := Entry{Replica: Replica{"eu", 1}, Version: 1, Taken: 1}
	for i, g := range []uint32{0, 2, 1} {
		name.Generation = g
		mustMerge(t, table, name, e)
		if want := []uint32{0, 2, 2}[i]; table.Generation(first) != want {
			t.Errorf("after generation %d: %d, want %d", g, table.Generation(first), want)
		}
	}
	if table.Len() != 3 {
		t.Errorf("%d rows, want each generation's", table.Len())
	}
	for table.DropEnded(100, 1<<20, func(RowID) {}) > 0 {
	}
	if table.Len() != 0 || table.Generation(first) != 0 {
		t.Errorf("after its end %d rows are held, generation %d is known", table.Len(), table.Generation(first))
	}
}
