package redis

import (
	"strconv"
	"testing"
	"time"

	"weir/limiter/store"
	"weir/limiter/store/storetest"
)

// BenchmarkDecide asks one bucket a call, of 100 000. A plain GET over the same
// client is the yardstick.
func BenchmarkDecide(b *testing.B) {
	s := openStore(b, Options{URL: shared.URL})
	takes := make([]store.BucketTake, 100_000)
	for i := range takes {
		takes[i] = storetest.NewBucket(storetest.MustRate(1_000_000, time.Second, 1_000_000), 1)
	}
	b.Run("yardstick=GET", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := s.calls.Load().Get(b.Context(), "nothing").Err(); err == nil {
				b.Fatal("found something")
			}
		}
	})
	for _, size := range []int{1, 16} {
		b.Run("calls="+strconv.Itoa(size), func(b *testing.B) {
			b.ReportAllocs()
			calls := make([]*store.Call, size)
			for i := range calls {
				calls[i] = &store.Call{Buckets: make([]store.BucketTake, 1)}
			}
			n := 0
			for b.Loop() {
				for _, c := range calls {
					c.Buckets[0] = takes[n%len(takes)]
					n++
				}
				s.Decide(b.Context(), calls)
			}
			if calls[0].Status != store.Allowed {
				b.Fatal(calls[0].Err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/call")
		})
	}
	b.Run("quota", func(b *testing.B) {
		b.ReportAllocs()
		c := &store.Call{Quotas: []store.QuotaTake{storetest.NewQuota(subject(b, s, plainClient(b, shared)), 1<<50, 1)}}
		for b.Loop() {
			c.Quotas[0].Reign = 0
			s.Decide(b.Context(), []*store.Call{c})
		}
		if c.Status != store.Allowed {
			b.Fatal(c.Err)
		}
	})
	b.Run("parallel=32", func(b *testing.B) {
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			calls := []*store.Call{{Buckets: []store.BucketTake{takes[0]}}}
			for pb.Next() {
				s.Decide(b.Context(), calls)
			}
		})
	})
}

// BenchmarkRedisMemory stores a million buckets and reports what each takes in
// the server, all in.
func BenchmarkRedisMemory(b *testing.B) {
	const keys, batch = 1_000_000, 1000
	server := storetest.StartServer(b)
	plain := plainClient(b, server)
	s := openStore(b, Options{URL: server.URL})
	used := func() int64 {
		n, err := strconv.ParseInt(infoField(plain.Info(b.Context(), "memory").Val(), "used_memory"), 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	rate := storetest.MustRate(7, 24*time.Hour, 100)
	calls := make([]*store.Call, batch)
	for b.Loop() {
		before := used()
		for range keys / batch {
			for i := range calls {
				calls[i] = &store.Call{Buckets: []store.BucketTake{storetest.NewBucket(rate, 1)}}
			}
			s.Decide(b.Context(), calls)
			for _, c := range calls {
				if c.Status != store.Allowed {
					b.Fatal(c.Err)
				}
			}
		}
		b.ReportMetric(float64(used()-before)/keys, "bytes/key")
		if err := plain.FlushAll(b.Context()).Err(); err != nil {
			b.Fatal(err)
		}
	}
}
