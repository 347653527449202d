package ledger

import (
	"fmt"
	"testing"

	"weir/crdt"
)

// BenchmarkView is what every check of a quota pays to know of the world: beside
// it, one look at the row alone.
func BenchmarkView(b *testing.B) {
	l := newTestLedger(b, 200_000)
	const rows = 100_000
	for i := range rows {
		q := quotaTake(fmt.Sprint("key-", i), 1)
		for n, region := range []string{"eu", "us", "ap"} {
			record(l, RowName(q.Row), crdt.Entry{Replica: crdt.Replica{Region: region, Nonce: uint64(n + 1)}, Version: 3, Taken: 8})
		}
	}
	q := quotaTake("key-77", 1)
	q.Total = 1_000_000
	b.Run("view", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			l.View(q)
		}
	})
	b.Run("row alone", func(b *testing.B) {
		id := RowName(q.Row).ID()
		b.ReportAllocs()
		for b.Loop() {
			l.rows.View(id, func(*crdt.Row) {})
		}
	})
}
