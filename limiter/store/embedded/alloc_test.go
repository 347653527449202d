//go:build !race

package embedded

import (
	"testing"
	"time"

	"weir/limiter/store"
	"weir/limiter/store/storetest"
)

func TestOneBucketAllocatesNothing(t *testing.T) {
	s := New(Options{})
	calls := []*store.Call{{Buckets: []store.BucketTake{storetest.NewBucket(storetest.MustRate(1000, time.Second, 1000), 1)}}}
	if got := testing.AllocsPerRun(1000, func() { s.Decide(t.Context(), calls) }); got > 0 {
		t.Errorf("%v allocations a call", got)
	}
}

func TestManyTakesAllocateNothing(t *testing.T) {
	s, clock := newStore(Options{})
	c := &store.Call{}
	for range 5 {
		c.Buckets = append(c.Buckets, storetest.NewBucket(storetest.MustRate(1000, time.Second, 1000), 1))
	}
	c.Quotas = append(c.Quotas, storetest.NewQuota(storetest.Subject{Now: clock.Load}, 1<<40, 1))
	calls := []*store.Call{c}
	if got := testing.AllocsPerRun(1000, func() { s.Decide(t.Context(), calls) }); got > 0 {
		t.Errorf("%v allocations a call", got)
	}
}
