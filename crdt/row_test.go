package crdt

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func sameEntries(a, b *Row) bool { return slices.Equal(a.entries, b.entries) }

func TestMergeIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := entriesGen().Draw(t, "entries")
		row := rowOf(entries)
		before := slices.Clone(row.entries)
		for _, e := range entries {
			if row.Merge(e) {
				t.Fatalf("merging %v a second time was new", e)
			}
		}
		if !slices.Equal(before, row.entries) {
			t.Fatalf("changed from %v to %v", before, row.entries)
		}
	})
}

func TestMergeIsCommutative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := entriesGen().Draw(t, "entries")
		other := rapid.Permutation(entries).Draw(t, "other order")
		if a, b := rowOf(entries), rowOf(other); !sameEntries(a, b) {
			t.Fatalf("%v in another order is %v", a.entries, b.entries)
		}
	})
}

func mergeRow(dst, from *Row) {
	for _, e := range from.entries {
		dst.Merge(e)
	}
}

func TestMergeIsAssociative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := entriesGen().Draw(t, "a"), entriesGen().Draw(t, "b"), entriesGen().Draw(t, "c")
		left := rowOf(a)
		mergeRow(left, rowOf(b))
		mergeRow(left, rowOf(c))
		right := rowOf(b)
		mergeRow(right, rowOf(c))
		whole := rowOf(a)
		mergeRow(whole, right)
		if !sameEntries(left, whole) {
			t.Fatalf("(a∨b)∨c = %v, a∨(b∨c) = %v", left.entries, whole.entries)
		}
	})
}

func TestMergeOnlyGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := &Row{}
		for _, e := range entriesGen().Draw(t, "entries") {
			before := slices.Clone(row.entries)
			changed := row.Merge(e)
			if changed == slices.Equal(before, row.entries) {
				t.Fatalf("Merge said %v, row went from %v to %v", changed, before, row.entries)
			}
			for _, old := range before {
				now, ok := row.Entry(old.Replica)
				if !ok || now.Version < old.Version || (now.Version == old.Version && (now.Taken < old.Taken || now.Returned < old.Returned)) {
					t.Fatalf("entry fell from %v to %v", old, now)
				}
			}
		}
	})
}

func TestRowAgreesWithNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row, naive := &Row{}, naiveRow{}
		for _, e := range entriesGen().Draw(t, "entries") {
			if got, want := row.Merge(e), naive.merge(e); got != want {
				t.Fatalf("Merge(%v) = %v, want %v", e, got, want)
			}
		}
		compareWithNaive(t, row, naive)
	})
}

func compareWithNaive(t *rapid.T, row *Row, naive naiveRow) {
	if !slices.IsSortedFunc(row.entries, func(a, b Entry) int { return a.Replica.Compare(b.Replica) }) {
		t.Fatalf("not sorted: %v", row.entries)
	}
	want := naive.entries()
	if len(row.entries) != len(want) {
		t.Fatalf("entries %v, want %v", row.entries, want)
	}
	for _, e := range row.entries {
		if want[e.Replica] != e {
			t.Fatalf("entry %v, want %v", e, want[e.Replica])
		}
	}
	if got, want := row.Value(), naive.net(func(Replica) bool { return true }); got != want {
		t.Fatalf("Value = %d, want %d", got, want)
	}
	for _, region := range regionNames {
		if got, want := row.Elsewhere(region), naive.net(func(r Replica) bool { return r.Region != region }); got != want {
			t.Fatalf("Elsewhere(%s) = %d, want %d", region, got, want)
		}
		taken, returned := row.Region(region)
		if want := naive.net(func(r Replica) bool { return r.Region == region }); taken-returned != want {
			t.Fatalf("Region(%s) = %d − %d, want net %d", region, taken, returned, want)
		}
		for _, e := range row.Earlier(nil, region, 2) {
			if e.Replica.Region != region || e.Replica.Nonce == 2 || want[e.Replica] != e {
				t.Fatalf("Earlier(%s, 2) returned %v", region, e)
			}
		}
	}
}

func TestSumsDoNotWrap(t *testing.T) {
	row := &Row{}
	for nonce := range uint64(2000) {
		row.Merge(Entry{Replica: Replica{"eu", nonce}, Version: 1, Taken: MaxUnits})
	}
	if row.Value() != math.MaxInt64 || row.Elsewhere("us") != math.MaxInt64 {
		t.Fatalf("Value = %d, Elsewhere = %d, want the largest int64", row.Value(), row.Elsewhere("us"))
	}
}

func TestEntryValidate(t *testing.T) {
	good := Entry{Replica: Replica{"eu", 1}, Version: 1, Taken: MaxUnits, Returned: MaxUnits}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, broken := range map[string]func(*Entry){
		"no region":      func(e *Entry) { e.Replica.Region = "" },
		"long region":    func(e *Entry) { e.Replica.Region = strings.Repeat("x", MaxRegionBytes+1) },
		"version 0":      func(e *Entry) { e.Version = 0 },
		"negative taken": func(e *Entry) { e.Taken = -1 },
		"huge taken":     func(e *Entry) { e.Taken = MaxUnits + 1 },
		"negative back":  func(e *Entry) { e.Returned = -1 },
		"huge back":      func(e *Entry) { e.Returned = MaxUnits + 1 },
	} {
		e := good
		broken(&e)
		if err := e.Validate(); !errors.Is(err, ErrEntry) {
			t.Errorf("%s: %v, want ErrEntry", name, err)
		}
	}
}

func TestNameValidate(t *testing.T) {
	good := RowName{Rule: "daily", Key: strings.Repeat("k", MaxNameBytes), Start: 10, End: 11}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, broken := range map[string]func(*RowName){
		"no rule":      func(n *RowName) { n.Rule = "" },
		"long rule":    func(n *RowName) { n.Rule = strings.Repeat("r", MaxNameBytes+1) },
		"long key":     func(n *RowName) { n.Key += "k" },
		"empty period": func(n *RowName) { n.End = n.Start },
	} {
		n := good
		broken(&n)
		if err := n.Validate(); !errors.Is(err, ErrName) {
			t.Errorf("%s: %v, want ErrName", name, err)
		}
	}
}

func TestRowIDTellsNamesApart(t *testing.T) {
	names := []RowName{
		{Rule: "ab", Key: "c", Start: 1, End: 2},
		{Rule: "a", Key: "bc", Start: 1, End: 2},
		{Rule: "abc", Key: "", Start: 1, End: 2},
		{Rule: "ab", Key: "c", Start: 2, End: 1},
		{Rule: "ab", Key: "c", Start: 1, End: 3},
		{Rule: "ab", Key: "c", Start: 1, End: 2, Generation: 1},
		{Rule: "ab", Key: strings.Repeat("c", 300), Start: 1, End: 2},
	}
	seen := map[RowID]RowName{}
	for _, n := range names {
		if other, ok := seen[n.ID()]; ok {
			t.Errorf("%v and %v share an ID", n, other)
		}
		seen[n.ID()] = n
	}
}
