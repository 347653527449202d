package redis

import (
	"encoding/binary"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"weir/limiter/store"
	"weir/limiter/store/storetest"
)

// BenchmarkDecide asks one bucket a call, of 100 000. A plain GET over the same
// client is the yardstick.
func BenchmarkDecide(b *testing.B) {
	s := openStore(b, Options{URL: shared.URL})
	plain := plainClient(b, shared)
	takes := make([]store.BucketTake, 100_000)
	for i := range takes {
		takes[i] = storetest.NewBucket(storetest.MustRate(1_000_000, time.Second, 1_000_000), 1)
	}
	b.Run("yardstick=GET", func(b *testing.B) {
		b.ReportAllocs()
		report := perCall(b, plain, func() int { return b.N })
		defer report()
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
			report := perCall(b, plain, func() int { return n })
			defer report()
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
	sub := subject(b, s, plain)
	benchmarkQuota := func(b *testing.B, c *store.Call, name func(*store.Call)) {
		b.ReportAllocs()
		report := perCall(b, plain, func() int { return b.N })
		defer report()
		for b.Loop() {
			c.Quotas[0].Reign = 0
			name(c)
			s.Decide(b.Context(), []*store.Call{c})
		}
		if c.Status != store.Allowed {
			b.Fatal(c.Err)
		}
	}
	b.Run("quota", func(b *testing.B) {
		benchmarkQuota(b, &store.Call{Quotas: []store.QuotaTake{storetest.NewQuota(sub, 1<<50, 1)}}, func(*store.Call) {})
	})
	nextRequest := uint64(0)
	request := func(c *store.Call) {
		nextRequest++
		binary.BigEndian.PutUint64(c.Request[:8], uint64(b.N)<<32+nextRequest)
		binary.BigEndian.PutUint64(c.Request[8:], nextRequest)
	}
	b.Run("quota, with request", func(b *testing.B) {
		benchmarkQuota(b, &store.Call{Quotas: []store.QuotaTake{storetest.NewQuota(sub, 1<<50, 1)}}, request)
	})
	b.Run("quota, with request, rights and gifts", func(b *testing.B) {
		q := storetest.NewQuota(sub, 1<<50, 1)
		q.Allotted = 1 << 50
		for _, to := range []string{"us-east", "ap-south"} {
			storetest.Apply(b, s, &store.Change{QuotaRow: q.QuotaRow, Kind: store.Give, To: to, Units: 12_345}, store.Allowed)
		}
		benchmarkQuota(b, &store.Call{Quotas: []store.QuotaTake{q}}, request)
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

// BenchmarkRequestMemory reports what a noted call takes in the server: one tag's
// hash that stays small, and one that many calls share.
func BenchmarkRequestMemory(b *testing.B) {
	const calls = 200_000
	for name, tags := range map[string]int{"spread over tags": store.Tags, "one tag": 1} {
		b.Run(name, func(b *testing.B) {
			server := storetest.StartServer(b)
			plain := plainClient(b, server)
			s := openStore(b, Options{URL: server.URL})
			sub := subject(b, s, plain)
			quotas := make([]store.QuotaTake, tags)
			batch := make([]*store.Call, 500)
			for i := range quotas {
				quotas[i] = storetest.NewQuota(sub, 1<<50, 1)
				quotas[i].Tag = uint16(i)
				storetest.Decide(b, s, &store.Call{Quotas: []store.QuotaTake{quotas[i]}}, store.Allowed)
			}
			used := func() int64 {
				n, err := strconv.ParseInt(infoField(plain.Info(b.Context(), "memory").Val(), "used_memory"), 10, 64)
				if err != nil {
					b.Fatal(err)
				}
				return n
			}
			for b.Loop() {
				before := used()
				for n := range calls / len(batch) {
					for i := range batch {
						batch[i] = newCall(quotas[(n*len(batch)+i)%tags])
					}
					s.Decide(b.Context(), batch)
				}
				if batch[0].Status != store.Allowed {
					b.Fatal(batch[0].Err)
				}
				b.ReportMetric(float64(used()-before)/calls, "bytes/call")
			}
		})
	}
}

// perCall reports the server's own time a call, which a busy machine does not
// change much.
func perCall(b *testing.B, c *redis.Client, calls func() int) (report func()) {
	used := func() (sum float64) {
		info := c.Info(b.Context(), "cpu").Val()
		for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
			seconds, err := strconv.ParseFloat(infoField(info, name), 64)
			if err != nil {
				b.Fatal(err)
			}
			sum += seconds
		}
		return sum
	}
	before := used()
	return func() { b.ReportMetric((used()-before)*1e6/float64(calls()), "µs-server/call") }
}
