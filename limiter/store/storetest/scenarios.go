package storetest

import (
	"testing"
	"time"

	"weir/limiter/quota"
	"weir/limiter/store"
)

// Subject is a store under test and its clock.
type Subject struct {
	Store store.Store
	// Now reads the store's clock, in microseconds since 1970.
	Now func() int64
	// Until returns once the store's clock has reached that instant.
	Until func(us int64)
}

// scenarios are what every store must do. Each uses IDs of its own, so that
// they can share a store.
var scenarios = []struct {
	name string
	run  func(*testing.T, Subject)
}{
	{"all or nothing", allOrNothing},
	{"cost 0 is a look", costZero},
	{"a denied call changes nothing", denied},
	{"a cost above the limit changes nothing", costAboveLimit},
	{"a burst of 600 at once on 100/s, burst 500", burst},
	{"a wait is exact", exactWait},
	{"many takes in one call", manyTakes},
	{"many calls at once", manyCalls},
	{"calls that share keys from many goroutines", together},
	{"another period", wrongPeriod},
	{"another reign", wrongReign},
	{"earlier entries in any order", earlier},
	{"as many earlier entries as may be", manyEarlier},
	{"what a reign takes stays exact", takenStaysExact},
	{"rights bound what a region takes", rights},
	{"a refusal for want of rights is noted", unmet},
	{"a generation is a row of its own", generations},
	{"gifts, grants, refunds and leases", changes},
	{"a change in another reign or period", wrongChange},
	{"a denied or looking change leaves no row", emptyChange},
	{"a cancelled call goes back", cancelled},
	{"rows hold what was counted", rows},
	{"invalid calls", invalid},
	{"the same answers as the reference", sameAsReference},
}

// Run runs the table against a store.
func Run(t *testing.T, s Subject) {
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) { sc.run(t, s) })
	}
}

var slow = MustRate(1, time.Hour, 10)

// left is how many tokens the bucket has, by a look of its own.
func left(t *testing.T, s Subject, take store.BucketTake) int64 {
	t.Helper()
	take.Cost = 0
	c := store.Call{Buckets: []store.BucketTake{take}}
	Decide(t, s.Store, &c, store.Allowed)
	return take.Rate.Remaining(c.Buckets[0].State, c.NowUs)
}

// taken is what the region took of the quota, by a look of its own.
func taken(t *testing.T, s Subject, take store.QuotaTake) int64 {
	t.Helper()
	take.Cost, take.Earlier, take.Reign = 0, nil, 0
	c := store.Call{Quotas: []store.QuotaTake{take}}
	Decide(t, s.Store, &c, store.Allowed)
	return c.Quotas[0].RegionNet
}

func wantLeft(t *testing.T, s Subject, take store.BucketTake, want int64) {
	t.Helper()
	if got := left(t, s, take); got != want {
		t.Errorf("%d tokens left, want %d", got, want)
	}
}

func wantNet(t *testing.T, s Subject, take store.QuotaTake, want int64) {
	t.Helper()
	if got := taken(t, s, take); got != want {
		t.Errorf("%d units taken, want %d", got, want)
	}
}

func allOrNothing(t *testing.T, s Subject) {
	rich, poor := NewBucket(slow, 3), NewBucket(slow, 11)
	wide, narrow := NewQuota(s, 100, 5), NewQuota(s, 4, 5)
	for name, in := range map[string]struct {
		buckets []store.BucketTake
		quotas  []store.QuotaTake
		fits    []bool
	}{
		"bucket beside bucket": {[]store.BucketTake{rich, poor}, nil, []bool{true, false}},
		"bucket before quota":  {[]store.BucketTake{rich}, []store.QuotaTake{narrow}, []bool{true, false}},
		"quota beside quota":   {nil, []store.QuotaTake{wide, narrow}, []bool{true, false}},
		"all of them":          {[]store.BucketTake{poor, rich}, []store.QuotaTake{narrow, wide}, []bool{false, true, false, true}},
	} {
		c := store.Call{Buckets: in.buckets, Quotas: in.quotas}
		Decide(t, s.Store, &c, store.Denied)
		var fits []bool
		for _, b := range c.Buckets {
			fits = append(fits, b.Fits)
		}
		for _, q := range c.Quotas {
			fits = append(fits, q.Outcome == quota.Fits)
			if q.RegionNet != 0 || q.Entry.Version != 0 {
				t.Errorf("%s: a denied quota answers %+v", name, q)
			}
		}
		for i := range in.fits {
			if fits[i] != in.fits[i] {
				t.Errorf("%s: take %d fits: %v", name, i, fits[i])
			}
		}
	}
	wantLeft(t, s, rich, 10)
	wantLeft(t, s, poor, 10)
	wantNet(t, s, wide, 0)
	wantNet(t, s, narrow, 0)

	c := store.Call{Buckets: []store.BucketTake{rich}, Quotas: []store.QuotaTake{wide}}
	Decide(t, s.Store, &c, store.Allowed)
	if got := c.Quotas[0]; got.RegionNet != 5 || got.Entry.Taken != 5 || got.Entry.Version != 1 {
		t.Errorf("after the first take: %+v", got)
	}
	wantLeft(t, s, rich, 7)
	wantNet(t, s, wide, 5)
}

func costZero(t *testing.T, s Subject) {
	b, q := NewBucket(slow, 0), NewQuota(s, 3, 0)
	for range 3 {
		c := store.Call{Buckets: []store.BucketTake{b}, Quotas: []store.QuotaTake{q}}
		Decide(t, s.Store, &c, store.Allowed)
		if c.Quotas[0].Entry.Version != 0 {
			t.Errorf("a look counted: %+v", c.Quotas[0].Entry)
		}
	}
	b.Cost, q.Cost = 10, 3
	c := store.Call{Buckets: []store.BucketTake{b}, Quotas: []store.QuotaTake{q}}
	Decide(t, s.Store, &c, store.Allowed)
	// What is used up, or over, can still be looked at.
	q.Elsewhere = 50
	wantLeft(t, s, b, 0)
	wantNet(t, s, q, 3)
}

func denied(t *testing.T, s Subject) {
	b, q := NewBucket(slow, 8), NewQuota(s, 10, 8)
	c := store.Call{Buckets: []store.BucketTake{b}, Quotas: []store.QuotaTake{q}}
	Decide(t, s.Store, &c, store.Allowed)
	before := c.Buckets[0].State
	for range 5 {
		Decide(t, s.Store, &c, store.Denied)
		if c.Buckets[0].State != before || c.Quotas[0].Entry.Taken != 8 || c.Quotas[0].Entry.Version != 1 {
			t.Fatalf("a denial changed something: %+v, %+v", c.Buckets[0], c.Quotas[0])
		}
	}
	wantLeft(t, s, b, 2)
	wantNet(t, s, q, 8)
}

func costAboveLimit(t *testing.T, s Subject) {
	for _, cost := range []int64{11, 1 << 40, 1<<63 - 1} {
		b, q := NewBucket(slow, cost), NewQuota(s, 10, cost)
		c := store.Call{Buckets: []store.BucketTake{b}}
		Decide(t, s.Store, &c, store.Denied)
		c = store.Call{Quotas: []store.QuotaTake{q}}
		Decide(t, s.Store, &c, store.Denied)
		wantLeft(t, s, b, 10)
		wantNet(t, s, q, 0)
	}
}

func exactWait(t *testing.T, s Subject) {
	for _, in := range []struct {
		count  int64
		window time.Duration
		burst  int64
	}{{100, time.Second, 5}, {7, time.Second, 3}, {999_983, 24 * time.Hour, 999_983}, {3, time.Millisecond, 1000}} {
		b := NewBucket(MustRate(in.count, in.window, in.burst), in.burst)
		c := store.Call{Buckets: []store.BucketTake{b}}
		Decide(t, s.Store, &c, store.Allowed)
		c.Buckets[0].Cost = 1
		s.Store.Decide(t.Context(), []*store.Call{&c})
		if c.Status == store.Allowed {
			continue // the machine was slow and the bucket fast
		}
		for tries := 0; c.Status == store.Denied; tries++ {
			wait := b.Rate.WaitUs(c.Buckets[0].State, c.NowUs, 1)
			if wait <= 0 || tries > 1 {
				t.Fatalf("%+v: denied %d times, with a wait of %d µs", in, tries+1, wait)
			}
			s.Until(c.NowUs + wait)
			s.Store.Decide(t.Context(), []*store.Call{&c})
		}
	}
}

func manyTakes(t *testing.T, s Subject) {
	var c store.Call
	for i := range int64(20) {
		c.Buckets = append(c.Buckets, NewBucket(slow, i%4))
		c.Quotas = append(c.Quotas, NewQuota(s, 10, i%3))
	}
	Decide(t, s.Store, &c, store.Allowed)
	for i := range int64(20) {
		wantLeft(t, s, c.Buckets[i], 10-i%4)
		wantNet(t, s, c.Quotas[i], i%3)
	}
}

func manyCalls(t *testing.T, s Subject) {
	b, q := NewBucket(slow, 1), NewQuota(s, 15, 1)
	for round, want := range []int{10, 5} {
		calls := make([]*store.Call, 12)
		for i := range calls {
			calls[i] = &store.Call{Quotas: []store.QuotaTake{q}}
			if round == 0 {
				calls[i].Buckets = []store.BucketTake{b}
			}
		}
		s.Store.Decide(t.Context(), calls)
		for i, c := range calls {
			status := store.Denied
			if i < want {
				status = store.Allowed
			}
			if c.Status != status {
				t.Errorf("round %d, call %d: status %d, want %d (err: %v)", round, i, c.Status, status, c.Err)
			}
		}
	}
	wantLeft(t, s, b, 0)
	wantNet(t, s, q, 15)
}
