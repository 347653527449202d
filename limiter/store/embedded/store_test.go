package embedded

import (
	"sync/atomic"
	"testing"
	"time"

	"weir/limiter/quota"
	"weir/limiter/store"
	"weir/limiter/store/storetest"
)

// newStore returns a store on a clock that stands still, and the clock.
func newStore(o Options) (*Store, *atomic.Int64) {
	clock := new(atomic.Int64)
	clock.Store(time.Now().UnixMicro())
	o.Now = clock.Load
	return New(o), clock
}

func TestScenarios(t *testing.T) {
	s, clock := newStore(Options{})
	storetest.Run(t, storetest.Subject{Store: s, Now: clock.Load, Until: clock.Store})
}

func TestScenariosOnTheSystemsClock(t *testing.T) {
	s := New(Options{})
	now := func() int64 { return time.Now().UnixMicro() }
	storetest.Run(t, storetest.Subject{Store: s, Now: now, Until: func(us int64) { time.Sleep(time.Duration(us-now()) * time.Microsecond) }})
}

func TestReignsDiffer(t *testing.T) {
	if a, b := New(Options{}), New(Options{}); a.Reign(0) == b.Reign(0) || a.Reign(0) == 0 {
		t.Errorf("reigns %x and %x", a.Reign(0), b.Reign(0))
	}
	if err := New(Options{}).Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestKeysAreBounded(t *testing.T) {
	const keys = 1000
	s, clock := newStore(Options{Keys: keys})
	rate := storetest.MustRate(1, time.Second, 5)
	first := storetest.NewBucket(rate, 5)
	held := store.Call{Buckets: []store.BucketTake{first}}
	storetest.Decide(t, s, &held, store.Allowed)
	full := 0
	for range 3 * keys {
		c := store.Call{Buckets: []store.BucketTake{storetest.NewBucket(rate, 1)}}
		storetest.Decide(t, s, &c, store.Allowed)
		if c.Buckets[0].Full {
			full++
			if got := rate.Remaining(c.Buckets[0].State, c.NowUs); got != 5 {
				t.Fatalf("an uncounted bucket has %d left", got)
			}
		}
	}
	if full != 2*keys+1 || s.Keys() != keys {
		t.Errorf("%d uncounted, %d held; want %d and %d", full, s.Keys(), 2*keys+1, keys)
	}
	storetest.Decide(t, s, &held, store.Denied) // what is there keeps its state

	// Together with others, a new one passes uncounted, those that exist are
	// charged.
	clock.Add(1e6)
	both := store.Call{Buckets: []store.BucketTake{first, storetest.NewBucket(rate, 1)}}
	both.Buckets[0].Cost = 1
	storetest.Decide(t, s, &both, store.Allowed)
	if both.Buckets[0].Full || rate.Remaining(both.Buckets[0].State, both.NowUs) != 0 {
		t.Errorf("the bucket that exists: %+v", both.Buckets[0])
	}

	// Once the old ones are full again, they make room.
	clock.Add(10e6)
	full = 0
	for range 3 * keys {
		c := store.Call{Buckets: []store.BucketTake{storetest.NewBucket(rate, 1)}}
		storetest.Decide(t, s, &c, store.Allowed)
		if c.Buckets[0].Full {
			full++
		}
		clock.Add(2000) // 500 live at a time
	}
	if full > 0 || s.Keys() > keys {
		t.Errorf("%d uncounted with room, %d held", full, s.Keys())
	}
}

func TestQuotaRowsAreBounded(t *testing.T) {
	const rows = 100
	s, clock := newStore(Options{QuotaRows: rows})
	subject := storetest.Subject{Store: s, Now: clock.Load, Until: clock.Store}
	first := storetest.NewQuota(subject, 10, 1)
	for i := range 2 * rows {
		q := storetest.NewQuota(subject, 10, 1)
		if i == 0 {
			q = first
		}
		c := store.Call{Buckets: []store.BucketTake{storetest.NewBucket(storetest.MustRate(1, time.Second, 5), 1)}, Quotas: []store.QuotaTake{q}}
		want := store.Allowed
		if i >= rows {
			want = store.Denied
		}
		storetest.Decide(t, s, &c, want)
		if got := c.Quotas[0]; got.Full != (i >= rows) || (got.Outcome == quota.Fits) != (i < rows) {
			t.Fatalf("row %d: outcome %d, full %v", i, got.Outcome, got.Full)
		}
	}
	if s.QuotaRows() != rows || s.Keys() != rows {
		t.Errorf("%d rows and %d buckets, want %d of each", s.QuotaRows(), s.Keys(), rows)
	}
	c := store.Call{Quotas: []store.QuotaTake{first}}
	storetest.Decide(t, s, &c, store.Allowed) // what is there is counted
	if c.Quotas[0].RegionNet != 2 {
		t.Errorf("%+v", c.Quotas[0])
	}
	look := store.Call{Quotas: []store.QuotaTake{storetest.NewQuota(subject, 10, 0)}}
	storetest.Decide(t, s, &look, store.Allowed)

	// Rows are dropped once their grace is over, not before.
	clock.Store(first.Row.GoneUs() + 1e6)
	for range 10 * rows {
		c := store.Call{Quotas: []store.QuotaTake{storetest.NewQuota(subject, 10, 1)}}
		s.Decide(t.Context(), []*store.Call{&c})
	}
	if s.QuotaRows() > rows {
		t.Errorf("%d rows", s.QuotaRows())
	}
	fresh := 0
	if err := s.Rows(t.Context(), func(page []store.Row) error {
		for _, r := range page {
			if r.Name.Within(clock.Load()) {
				fresh++
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if fresh == 0 {
		t.Error("no ended row made room")
	}
}

func TestADeniedCallLeavesNoRow(t *testing.T) {
	s, clock := newStore(Options{})
	q := storetest.NewQuota(storetest.Subject{Now: clock.Load}, 10, 11)
	c := store.Call{Quotas: []store.QuotaTake{q}}
	storetest.Decide(t, s, &c, store.Denied)
	if s.QuotaRows() != 0 {
		t.Errorf("%d rows", s.QuotaRows())
	}
	c.Quotas[0].Earlier = []store.Entry{storetest.NewEntry(3, 1, 1, 0)}
	storetest.Decide(t, s, &c, store.Denied)
	if s.QuotaRows() != 1 {
		t.Errorf("%d rows, want the one that keeps an earlier entry", s.QuotaRows())
	}
}

func TestClockSteps(t *testing.T) {
	s, clock := newStore(Options{})
	rate := storetest.MustRate(10, time.Second, 10)
	b := storetest.NewBucket(rate, 10)
	c := store.Call{Buckets: []store.BucketTake{b}}
	storetest.Decide(t, s, &c, store.Allowed)
	clock.Add(-3600e6)
	c.Buckets[0].Cost = 1
	storetest.Decide(t, s, &c, store.Denied) // no grant, and noticed
	clock.Add(1e6)
	c.Buckets[0].Cost = 10
	storetest.Decide(t, s, &c, store.Allowed) // not locked out for an hour
	clock.Add(3600e6)
	storetest.Decide(t, s, &c, store.Allowed)
	storetest.Decide(t, s, &c, store.Denied) // one bucketful, not an hour's
}
