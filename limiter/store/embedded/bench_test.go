package embedded

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"weir/limiter/store"
	"weir/limiter/store/storetest"
)

// BenchmarkDecide asks one bucket a call, of many at random. Reading the clock
// alone is the yardstick.
func BenchmarkDecide(b *testing.B) {
	b.Run("clock only", func(b *testing.B) {
		for b.Loop() {
			_ = time.Now().UnixMicro()
		}
	})
	for _, keys := range []int{1_000, 1_000_000, 10_000_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) { benchmarkKeys(b, keys) })
	}
}

func benchmarkKeys(b *testing.B, keys int) {
	before := heap()
	s := New(Options{Keys: keys})
	rate := storetest.MustRate(100, 24*time.Hour, 500)
	calls := []*store.Call{{Buckets: []store.BucketTake{storetest.NewBucket(rate, 1)}}}
	longest := time.Duration(0)
	for i := range keys {
		calls[0].Buckets[0].ID = benchID(i)
		start := time.Now()
		s.Decide(b.Context(), calls)
		longest = max(longest, time.Since(start))
	}
	size := heap() - before
	for b.Loop() {
		calls[0].Buckets[0].ID = benchID(rand.IntN(keys))
		s.Decide(b.Context(), calls)
	}
	b.ReportMetric(float64(size)/float64(keys), "bytes/key")
	b.ReportMetric(float64(longest.Microseconds()), "µs-longest-insert")
	runtime.KeepAlive(s)
}

// benchID spreads numbers over IDs as a digest would.
func benchID(i int) (id store.ID) {
	x := uint64(i)*0x9e3779b97f4a7c15 + 1
	for n := range id {
		x ^= x >> 29
		x *= 0xbf58476d1ce4e5b9
		id[n] = byte(x >> 56)
	}
	return id
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkDecideParallel is many goroutines on as many keys.
func BenchmarkDecideParallel(b *testing.B) {
	s := New(Options{})
	rate := storetest.MustRate(1_000_000, time.Second, 1_000_000)
	b.RunParallel(func(pb *testing.PB) {
		calls := []*store.Call{{Buckets: []store.BucketTake{storetest.NewBucket(rate, 1)}}}
		for pb.Next() {
			s.Decide(b.Context(), calls)
		}
	})
}

// BenchmarkDecideTen asks ten buckets and a quota in one call.
func BenchmarkDecideTen(b *testing.B) {
	s, clock := newStore(Options{})
	c := &store.Call{Quotas: []store.QuotaTake{storetest.NewQuota(storetest.Subject{Now: clock.Load}, 1<<50, 1)}}
	for range 10 {
		c.Buckets = append(c.Buckets, storetest.NewBucket(storetest.MustRate(1_000_000, time.Second, 1_000_000), 1))
	}
	calls := []*store.Call{c}
	for b.Loop() {
		clock.Add(20)
		s.Decide(b.Context(), calls)
	}
}
