package crdt

import (
	"fmt"
	"runtime"
	"testing"
)

// benchName has a key of 31 bytes.
func benchName(i int) RowName {
	return RowName{Rule: "daily", Key: fmt.Sprintf("customer-%022d", i), Start: 1_790_000_000, End: 1_790_086_400}
}

func benchEntry(region string, version uint64) Entry {
	return Entry{Replica: Replica{region, uint64(len(region))*0x9e3779b97f4a7c15 + uint64(region[0])}, Version: version, Taken: int64(version) * 3, Returned: int64(version / 10)}
}

func heapBytes() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkTableMemory fills a million rows of three regions, as they look
// after 5 000 changes each.
func BenchmarkTableMemory(b *testing.B) {
	const rows = 1_000_000
	for range b.N {
		before := heapBytes()
		table := NewTable(rows)
		for version := uint64(1); version <= 5001; version += 5000 {
			for i := range rows {
				n := benchName(i)
				id := n.ID()
				for _, region := range regionNames {
					if _, err := table.Merge(id, n, benchEntry(region, version)); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
		b.ReportMetric(float64(heapBytes()-before)/rows, "bytes/row")
		runtime.KeepAlive(table)
	}
}

func BenchmarkTableMerge(b *testing.B) {
	for _, rows := range []int{1000, 1_000_000} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			table, names, ids := NewTable(rows), make([]RowName, rows), make([]RowID, rows)
			for i := range rows {
				names[i] = benchName(i)
				ids[i] = names[i].ID()
				for _, region := range regionNames {
					_, _ = table.Merge(ids[i], names[i], benchEntry(region, 1))
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			at := 0
			for i := range b.N {
				at = (at + 7919) % rows
				_, _ = table.Merge(ids[at], names[at], benchEntry("eu", uint64(i/rows+2)))
			}
		})
	}
}

func BenchmarkRowID(b *testing.B) {
	n := benchName(1)
	b.ReportAllocs()
	for range b.N {
		n.ID()
	}
}
