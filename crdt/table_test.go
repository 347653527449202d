package crdt

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

var daily = RowName{Rule: "daily", Key: "k", Start: 0, End: 100}

func ignoreRow(RowID) {}

func mustMerge(t *testing.T, table *Table, n RowName, e Entry) {
	t.Helper()
	if _, err := table.Merge(n.ID(), n, e); err != nil {
		t.Fatal(err)
	}
}

// The table against plain rows in a map, under merges and ending periods.
func TestTableAgreesWithRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, rows := NewTable(20), map[RowName]*Row{}
		t.Repeat(map[string]func(*rapid.T){
			"merge": func(t *rapid.T) {
				n := RowName{
					Rule: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "rule"),
					Key:  rapid.SampledFrom([]string{"", "x", "yy"}).Draw(t, "key"),
					End:  rapid.Int64Range(1, 3).Draw(t, "end"),
				}
				e := entryGen().Draw(t, "entry")
				changed, err := table.Merge(n.ID(), n, e)
				if err != nil {
					t.Fatal(err)
				}
				if rows[n] == nil {
					rows[n] = NewRow(n)
				}
				if want := rows[n].Merge(e); changed != want {
					t.Fatalf("Merge(%v, %v) = %v, want %v", n, e, changed, want)
				}
			},
			"drop": func(t *rapid.T) {
				before, want := rapid.Int64Range(0, 3).Draw(t, "before"), 0
				for n := range rows {
					if n.End <= before {
						delete(rows, n)
						want++
					}
				}
				if table.HasEnded(before) != (want > 0) {
					t.Fatalf("HasEnded(%d) = %v, %d have", before, want == 0, want)
				}
				if got := table.DropEnded(before, slotsInChunk, ignoreRow); got != want {
					t.Fatalf("DropEnded(%d) = %d, want %d", before, got, want)
				}
			},
			"": func(t *rapid.T) { compareTable(t, table, rows) },
		})
	})
}

func compareTable(t *rapid.T, table *Table, rows map[RowName]*Row) {
	if table.Len() != len(rows) {
		t.Fatalf("%d rows, want %d", table.Len(), len(rows))
	}
	var row Row
	for n, want := range rows {
		if !table.Row(n.ID(), &row) || row.Name() != n || !sameEntries(&row, want) {
			t.Fatalf("row %v is %v, want %v", n, row, want)
		}
	}
	met := 0
	for place := range table.Slots() {
		if table.At(place, &row) {
			met++
		}
	}
	if met != len(rows) {
		t.Fatalf("a walk met %d rows, want %d", met, len(rows))
	}
	for number, r := range table.replicas.values {
		if got, ok := table.replicas.number(r.value); r.users > 0 && (!ok || got != uint32(number)) {
			t.Fatalf("replica %v lost its number", r.value)
		}
	}
}

func TestTableRefusesNewRowsPastItsBound(t *testing.T) {
	table := NewTable(2)
	e := Entry{Replica: Replica{"eu", 1}, Version: 1}
	for key := range 2 {
		n := daily
		n.Key = fmt.Sprint(key)
		mustMerge(t, table, n, e)
	}
	n := daily
	n.Key = "one too many"
	if _, err := table.Merge(n.ID(), n, e); !errors.Is(err, ErrFull) {
		t.Fatalf("a third row: %v, want ErrFull", err)
	}
	if table.Has(n.ID()) || table.Len() != 2 || table.HasRoom(n.ID()) {
		t.Fatal("a refused row was kept, or said to have room")
	}
	n.Key, e.Version = "0", 2
	if !table.HasRoom(n.ID()) {
		t.Fatal("a row that is held has no room")
	}
	mustMerge(t, table, n, e)
	if table.DropEnded(daily.End, slotsInChunk, ignoreRow) != 2 {
		t.Fatal("ended rows stayed")
	}
	n.Key, n.End = "one too many", 200
	mustMerge(t, table, n, e)
}

func TestTableRefusesReplicasPastItsBound(t *testing.T) {
	table := NewTable(1)
	for nonce := range uint64(MaxEntries) {
		mustMerge(t, table, daily, Entry{Replica: Replica{"eu", nonce}, Version: 1, Taken: 1})
	}
	e := Entry{Replica: Replica{"eu", MaxEntries}, Version: 1, Taken: 1}
	if _, err := table.Merge(daily.ID(), daily, e); !errors.Is(err, ErrEntries) {
		t.Fatalf("%v, want ErrEntries", err)
	}
	e.Replica.Nonce, e.Version = 7, 2
	mustMerge(t, table, daily, e)
	var row Row
	if table.Row(daily.ID(), &row); row.Value() != MaxEntries {
		t.Fatalf("value %d, want %d", row.Value(), MaxEntries)
	}
}

// A sweep in small steps drops everything, and nothing else.
func TestDropEndedKeepsToItsBudget(t *testing.T) {
	const rows = 1000
	table := NewTable(2 * rows)
	e := Entry{Replica: Replica{"eu", 1}, Version: 1}
	for key := range rows {
		n := RowName{Rule: "r", Key: fmt.Sprint(key), End: 10}
		mustMerge(t, table, n, e)
		n.End = 20
		mustMerge(t, table, n, e)
	}
	total := 0
	for range slotsInChunk / 16 {
		dropped := table.DropEnded(10, 16, ignoreRow)
		if dropped > 16 {
			t.Fatalf("dropped %d with a budget of 16", dropped)
		}
		total += dropped
	}
	if total != rows || table.Len() != rows {
		t.Fatalf("dropped %d, kept %d; want %d each", total, table.Len(), rows)
	}
}

// What no row uses any more is forgotten: reigns come and go for ever.
func TestTableForgetsReplicasAndPeriods(t *testing.T) {
	table := NewTable(10)
	for day := range int64(1000) {
		n := RowName{Rule: "r", Start: day, End: day + 1}
		mustMerge(t, table, n, Entry{Replica: Replica{"eu", uint64(day)}, Version: 1})
		table.DropEnded(day+1, slotsInChunk, ignoreRow)
	}
	if len(table.replicas.values) > 1 || len(table.periods.values) > 1 || table.Slots() > slotsInChunk {
		t.Fatalf("kept %d replicas, %d periods, %d places", len(table.replicas.values), len(table.periods.values), table.Slots())
	}
}

func TestReadingAHotRowAllocatesNothing(t *testing.T) {
	table := NewTable(1)
	// Not in the order in which a row has its entries.
	for i, region := range []string{"us", "eu", "ap"} {
		gave := Gifts("").With("eu", int64(i)).With("sa", 7)
		if region == "eu" {
			gave = Gifts("").With("us", 3)
		}
		mustMerge(t, table, daily, Entry{Replica: Replica{region, 1}, Version: 1, Taken: 5, Gifts: gave})
	}
	id := daily.ID()
	var row Row
	if n := testing.AllocsPerRun(100, func() { table.Row(id, &row) }); n != 0 {
		t.Fatalf("Row: %v allocations", n)
	}
	version := uint64(2)
	gave := Gifts("").With("eu", 1)
	if n := testing.AllocsPerRun(100, func() {
		mustMerge(t, table, daily, Entry{Replica: Replica{"us", 1}, Version: version, Taken: 6, Gifts: gave})
		version++
	}); n != 0 {
		t.Fatalf("Merge: %v allocations", n)
	}
}
