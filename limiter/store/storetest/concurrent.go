package storetest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"weir/limiter/store"
)

// burst is the settlement case: of 600 checks at once on 100/s, burst 500, 500
// pass, and what flows meanwhile.
func burst(t *testing.T, s Subject) {
	rate := MustRate(100, time.Second, 500)
	b := NewBucket(rate, 1)
	calls := make([]store.Call, 600)
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			calls[i].Buckets = []store.BucketTake{b}
			s.Store.Decide(t.Context(), []*store.Call{&calls[i]})
			if calls[i].Status == store.Failed {
				t.Error(calls[i].Err)
			}
		})
	}
	all.Wait()
	passed, first, last := int64(0), int64(1<<62), int64(0)
	for i := range calls {
		if calls[i].Status == store.Allowed {
			passed++
		}
		first, last = min(first, calls[i].NowUs), max(last, calls[i].NowUs)
	}
	if most := 500 + (last-first)/10_000; passed < 500 || passed > most {
		t.Errorf("%d passed within %d µs, want 500 to %d", passed, last-first, most)
	}
	c := store.Call{Buckets: []store.BucketTake{b}}
	c.Buckets[0].Cost = 500
	Decide(t, s.Store, &c, store.Denied)
	s.Until(c.NowUs + rate.WaitUs(c.Buckets[0].State, c.NowUs, 500))
	Decide(t, s.Store, &c, store.Allowed)
}

// together has calls with the same keys in different orders: nothing may
// deadlock, and nothing be lost or counted twice.
func together(t *testing.T, s Subject) {
	var buckets []store.BucketTake
	var quotas []store.QuotaTake
	for range 4 {
		buckets = append(buckets, NewBucket(MustRate(1, time.Hour, 1000), 1))
		quotas = append(quotas, NewQuota(s, 1000, 1))
	}
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 20 {
				c := store.Call{Buckets: slices.Clone(buckets), Quotas: slices.Clone(quotas)}
				if (g+i)%2 == 1 {
					slices.Reverse(c.Buckets)
					slices.Reverse(c.Quotas)
				}
				if i%5 == 4 { // to be denied
					c.Quotas[2].Cost = 1001
				}
				s.Store.Decide(t.Context(), []*store.Call{&c})
				if c.Status == store.Failed {
					t.Error(c.Err)
				}
			}
		})
	}
	all.Wait()
	for i := range buckets {
		wantLeft(t, s, buckets[i], 1000-8*16)
		wantNet(t, s, quotas[i], 8*16)
	}
}
