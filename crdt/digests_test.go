package crdt

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// compareDigests works everything out from scratch.
func compareDigests(t *rapid.T, table *Table) {
	all, groups, leaves := map[Span]uint64{}, map[Span]*[256]uint64{}, map[Span]map[uint16]uint64{}
	rows := map[Span]map[uint16][]LeafRow{}
	var row Row
	for place := range table.Slots() {
		if !table.At(place, &row) {
			continue
		}
		id, span := row.name.ID(), Span{row.name.Start, row.name.End}
		d := Digest(id, row.Entries())
		if table.RowDigest(id) != d {
			t.Fatalf("row digest %x, want %x", table.RowDigest(id), d)
		}
		if groups[span] == nil {
			groups[span], leaves[span], rows[span] = new([256]uint64), map[uint16]uint64{}, map[uint16][]LeafRow{}
		}
		all[span] ^= d
		groups[span][id[0]] ^= d
		leaves[span][LeafOf(id)] ^= d
		rows[span][LeafOf(id)] = append(rows[span][LeafOf(id)], LeafRow{id, d})
	}
	spans := table.Spans(nil)
	if len(spans) != len(all) || !slices.IsSortedFunc(spans, Span.Compare) {
		t.Fatalf("spans %v, want those of %v", spans, all)
	}
	for span, want := range all {
		if got := table.SpanDigest(span); got != want {
			t.Fatalf("%v: digest %x, want %x", span, got, want)
		}
		compareGroups(t, table, span, groups[span], leaves[span])
		for leaf, want := range rows[span] {
			slices.SortFunc(want, func(a, b LeafRow) int { return slices.Compare(a.ID[:], b.ID[:]) })
			if got := table.Leaf(nil, span, leaf); !slices.Equal(got, want) {
				t.Fatalf("leaf %x: %v, want %v", leaf, got, want)
			}
		}
	}
}

func compareGroups(t *rapid.T, table *Table, span Span, groups *[256]uint64, leaves map[uint16]uint64) {
	var got [256]uint64
	table.GroupDigests(span, &got)
	if got != *groups {
		t.Fatalf("%v: groups differ", span)
	}
	for group := range 256 {
		if table.GroupDigest(span, uint8(group)) != groups[group] {
			t.Fatalf("%v: group %x differs", span, group)
		}
		table.LeafDigests(span, uint8(group), &got)
		if groups[group] == 0 {
			if got != [256]uint64{} {
				t.Fatalf("%v: group %x has leaves and no rows", span, group)
			}
			continue
		}
		for leaf := range 256 {
			at := uint16(group)<<8 | uint16(leaf)
			if got[leaf] != leaves[at] || table.LeafDigest(span, at) != leaves[at] {
				t.Fatalf("%v: leaf %x is %x, want %x", span, at, got[leaf], leaves[at])
			}
		}
	}
}

// TestDigestsAreThoseOfTheRows keeps digests through merges and ending periods
// and compares with those worked out anew.
func TestDigestsAreThoseOfTheRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := NewTable(300)
		t.Repeat(map[string]func(*rapid.T){
			"merge": func(t *rapid.T) {
				n := RowName{Rule: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "rule"), Key: rapid.SampledFrom([]string{"", "x", "yy"}).Draw(t, "key"),
					End: rapid.Int64Range(1, 3).Draw(t, "end")}
				if _, err := table.Merge(n.ID(), n, entryGen().Draw(t, "entry")); err != nil {
					t.Fatal(err)
				}
			},
			"many": func(t *rapid.T) {
				for i := range rapid.IntRange(1, 80).Draw(t, "rows") {
					n := RowName{Rule: "many", Key: fmt.Sprint(i), End: 2}
					_, _ = table.Merge(n.ID(), n, entryGen().Draw(t, "entry"))
				}
			},
			"drop": func(t *rapid.T) {
				table.DropEnded(rapid.Int64Range(0, 3).Draw(t, "before"), slotsInChunk, ignoreRow)
			},
			"": func(t *rapid.T) { compareDigests(t, table) },
		})
	})
}

// Many rows in one group change its list of leaves into an array.
func TestDigestsOfAFullGroup(t *testing.T) {
	table := NewTable(1000)
	span, all := Span{0, 100}, map[uint16]uint64{}
	for i := range 300 {
		// IDs are given, not those of the names: all in one group.
		id, n := RowID{7, byte(i), byte(i >> 8)}, RowName{Rule: "r", Key: fmt.Sprint(i), End: 100}
		e := Entry{Replica: Replica{"eu", 1}, Version: 1, Taken: int64(i)}
		if _, err := table.Merge(id, n, e); err != nil {
			t.Fatal(err)
		}
		all[LeafOf(id)] ^= Digest(id, []Entry{e})
	}
	if table.spans[span].groups[0].leaves.many == nil {
		t.Fatal("a full group keeps a list")
	}
	var got [256]uint64
	table.LeafDigests(span, 7, &got)
	for leaf, want := range all {
		if got[uint8(leaf)] != want || table.LeafDigest(span, leaf) != want {
			t.Fatalf("leaf %x: %x, want %x", leaf, got[uint8(leaf)], want)
		}
	}
	if rows := table.Leaf(nil, span, 7<<8); len(rows) != 2 || !rows[0].ID.Less(rows[1].ID) {
		t.Fatalf("%d rows in a leaf, want 2", len(rows))
	}
	table.DropEnded(100, slotsInChunk, ignoreRow)
	if table.SpanDigest(span) != 0 || len(table.spans) != 0 || table.Len() != 0 {
		t.Fatal("digests stayed when the rows were gone")
	}
}

// Every number of an entry counts in its digest.
func TestDigestTellsEntriesApart(t *testing.T) {
	e := Entry{Replica: Replica{"eu", 1}, Version: 2, Taken: 3, Returned: 4, Granted: 5, Unmet: 6, Gifts: Gifts("").With("us", 7)}
	seen := map[uint64]string{}
	for what, change := range map[string]func(*Entry){
		"as it is":       func(*Entry) {},
		"region":         func(e *Entry) { e.Replica.Region = "eu2" },
		"long region":    func(e *Entry) { e.Replica.Region = "europe-west" },
		"another":        func(e *Entry) { e.Replica.Region = "europe-east" },
		"nonce":          func(e *Entry) { e.Replica.Nonce++ },
		"version":        func(e *Entry) { e.Version++ },
		"taken":          func(e *Entry) { e.Taken++ },
		"returned":       func(e *Entry) { e.Returned++ },
		"swapped":        func(e *Entry) { e.Taken, e.Returned = e.Returned, e.Taken },
		"granted":        func(e *Entry) { e.Granted++ },
		"unmet":          func(e *Entry) { e.Unmet++ },
		"nothing more":   func(e *Entry) { e.Granted, e.Unmet, e.Gifts = 0, 0, "" },
		"gift":           func(e *Entry) { e.Gifts = e.Gifts.With("us", 8) },
		"another's gift": func(e *Entry) { e.Gifts = Gifts("").With("ap", 7) },
		"no gift":        func(e *Entry) { e.Gifts = "" },
	} {
		other := e
		change(&other)
		d := Digest(daily.ID(), []Entry{other})
		if twin, ok := seen[d]; ok {
			t.Errorf("%s and %s share a digest", what, twin)
		}
		seen[d] = what
	}
	if Digest(daily.ID(), []Entry{e}) == Digest(RowID{1}, []Entry{e}) {
		t.Error("two rows share a digest")
	}
}

// The index against a sorted list, with IDs that lie close together.
func TestIndexAgreesWithAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := NewTable(1000)
		var want []RowID
		spread := rapid.SampledFrom([]int{0, 1, 2, 5, 6, 15}).Draw(t, "byte")
		for i := range rapid.IntRange(0, 400).Draw(t, "rows") {
			var id RowID
			id[0] = rapid.Byte().Draw(t, "head") & 1
			id[spread] ^= rapid.Byte().Draw(t, "byte")
			id[14], id[13] = byte(i), byte(i>>8)
			n := RowName{Rule: "r", Key: fmt.Sprint(i), End: 1}
			if _, err := table.Merge(id, n, Entry{Replica: Replica{"eu", 1}, Version: 1}); err != nil {
				t.Fatal(err)
			}
			want = append(want, id)
		}
		if table.Len() != len(want) {
			t.Fatalf("%d rows, want %d", table.Len(), len(want))
		}
		slices.SortFunc(want, func(a, b RowID) int { return slices.Compare(a[:], b[:]) })
		var got []RowID
		for leaf := range 1 << 10 {
			for _, r := range table.Leaf(nil, Span{0, 1}, uint16(leaf)) {
				got = append(got, r.ID)
			}
		}
		for _, id := range want {
			if !table.Has(id) {
				t.Fatalf("row %x is lost", id)
			}
		}
		if id := (RowID{10: 0xff, 12: 1}); table.Has(id) {
			t.Fatal("a row is there that never was")
		}
		low := slices.IndexFunc(want, func(id RowID) bool { return LeafOf(id) >= 1<<10 })
		if low < 0 {
			low = len(want)
		}
		if !slices.Equal(got, want[:low]) {
			t.Fatalf("leaves hold %x, want %x", got, want[:low])
		}
	})
}

func BenchmarkLeaf(b *testing.B) {
	const rows = 1_000_000
	table := NewTable(rows)
	for i := range rows {
		n := benchName(i)
		_, _ = table.Merge(n.ID(), n, benchEntry("eu", 1))
	}
	span := Span{1_790_000_000, 1_790_086_400}
	var dst []LeafRow
	b.ReportAllocs()
	b.ResetTimer()
	seen := 0
	for i := range b.N {
		dst = table.Leaf(dst[:0], span, uint16(i*40503))
		seen += len(dst)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(seen, 1)), "ns/row")
}
