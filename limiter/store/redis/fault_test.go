package redis

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/limiter/store"
	"weir/limiter/store/storetest"
)

// TestScriptFlushUnderLoad: the server forgets its scripts all the time, and no
// call fails or is charged twice.
func TestScriptFlushUnderLoad(t *testing.T) {
	server := storetest.StartServer(t)
	plain := plainClient(t, server)
	s := openStore(t, Options{URL: server.URL})
	q := storetest.NewQuota(subject(t, s, plain), 1<<40, 1)
	flushing := make(chan struct{})
	var flusher, callers sync.WaitGroup
	flushes := 0
	flusher.Go(func() {
		for ; ; flushes++ {
			select {
			case <-flushing:
				return
			default:
			}
			if err := plain.ScriptFlush(t.Context()).Err(); err != nil {
				t.Error(err)
			}
		}
	})
	var allowed atomic.Int64
	for g := range 16 {
		callers.Go(func() {
			calls := make([]*store.Call, 1+g%4)
			for range 100 {
				for i := range calls {
					calls[i] = &store.Call{Quotas: []store.QuotaTake{q}}
				}
				s.Decide(t.Context(), calls)
				for _, c := range calls {
					if c.Status != store.Allowed {
						t.Errorf("status %d, err %v", c.Status, c.Err)
						return
					}
					allowed.Add(1)
				}
			}
		})
	}
	callers.Wait()
	close(flushing)
	flusher.Wait()
	c := store.Call{Quotas: []store.QuotaTake{q}}
	storetest.Decide(t, s, &c, store.Allowed)
	if got := c.Quotas[0].RegionNet; got != allowed.Load()+1 || flushes < 10 {
		t.Errorf("%d counted, %d allowed, %d flushes", got, allowed.Load()+1, flushes)
	}
}

// TestBlackHole: while Redis swallows everything, calls fail within the budget
// and connections stay within the pool; afterwards all is well again.
func TestBlackHole(t *testing.T) {
	server := storetest.StartServer(t)
	g := newGate(t, server)
	var c census
	s := newStore(t, Options{URL: g.url(), Budget: DefaultBudget, Pool: 10, dial: c.dial})
	waitReady(t, s)
	rate := storetest.MustRate(1_000_000, time.Second, 1_000_000)
	decide := func() (*store.Call, time.Duration) {
		c := &store.Call{Buckets: []store.BucketTake{storetest.NewBucket(rate, 1)}}
		start := time.Now()
		s.Decide(t.Context(), []*store.Call{c})
		return c, time.Since(start)
	}
	eventually(t, func() error { c, _ := decide(); return c.Err })

	g.stuck.Store(true)
	var longest atomic.Int64
	var callers sync.WaitGroup
	end := time.Now().Add(time.Second)
	var overslept atomic.Int64
	callers.Go(func() {
		for time.Now().Before(end) {
			start := time.Now()
			time.Sleep(10 * time.Millisecond)
			overslept.Store(max(overslept.Load(), int64(time.Since(start)-10*time.Millisecond)))
		}
	})
	for range 64 {
		callers.Go(func() {
			for time.Now().Before(end) {
				c, took := decide()
				if c.Status != store.Failed || !errors.Is(c.Err, store.ErrUnavailable) {
					t.Errorf("status %d, err %v", c.Status, c.Err)
				}
				for {
					was := longest.Load()
					if int64(took) <= was || longest.CompareAndSwap(was, int64(took)) {
						break
					}
				}
			}
		})
	}
	callers.Wait()
	// How late a sleeper woke says how loaded the machine is.
	if took := time.Duration(longest.Load()); took > 4*DefaultBudget+2*time.Duration(overslept.Load()) {
		t.Errorf("a call took %v, the budget is %v; a sleeper woke %v late", took, DefaultBudget, time.Duration(overslept.Load()))
	}
	// One more opens the reign while control holds its own.
	if most := c.most.Load(); most > 10+controlPool+1 {
		t.Errorf("%d connections at once; the pool is 10, control holds %d", most, controlPool)
	}
	g.stuck.Store(false)
	start := time.Now()
	eventually(t, func() error { c, _ := decide(); return c.Err })
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("decided again %v after the path was back", took)
	}
	waitReady(t, s)
}

// TestALostReplyIsNotRepeated: the server applies calls and their replies never
// come; each charge stands once.
func TestALostReplyIsNotRepeated(t *testing.T) {
	server := storetest.StartServer(t)
	g := newGate(t, server)
	s := newStore(t, Options{URL: g.url(), Budget: 200 * time.Millisecond})
	waitReady(t, s)
	b := storetest.NewBucket(storetest.MustRate(1, time.Hour, 10), 0)
	left := func() int64 {
		c := store.Call{Buckets: []store.BucketTake{b}}
		eventually(t, func() error { s.Decide(t.Context(), []*store.Call{&c}); return c.Err })
		return b.Rate.Remaining(c.Buckets[0].State, c.NowUs)
	}
	if got := left(); got != 10 {
		t.Fatalf("%d left of a new bucket", got)
	}
	g.deaf.Store(true)
	calls := make([]*store.Call, 3)
	for i := range calls {
		calls[i] = &store.Call{Buckets: []store.BucketTake{b}}
		calls[i].Buckets[0].Cost = 1
	}
	s.Decide(t.Context(), calls)
	for _, c := range calls {
		if c.Status != store.Failed || !errors.Is(c.Err, store.ErrUnavailable) {
			t.Errorf("status %d, err %v", c.Status, c.Err)
		}
	}
	g.deaf.Store(false)
	if got := left(); got != 7 {
		t.Errorf("%d left, want 7", got)
	}
}

// TestNothingOutlivesItsTime: every key but the markers expires, groups soon
// after their last bucket is full, and ended buckets make room for new ones.
func TestNothingOutlivesItsTime(t *testing.T) {
	server := storetest.StartServer(t)
	plain := plainClient(t, server)
	s := openStore(t, Options{URL: server.URL})
	sub := subject(t, s, plain)
	short, long := storetest.MustRate(1000, time.Second, 10), storetest.MustRate(1, time.Minute, 10)
	for i := range 500 {
		b := storetest.NewBucket(short, 5)
		if i%2 == 0 {
			b = storetest.NewBucket(long, 10)
		}
		c := newCall(storetest.NewQuota(sub, 10, 1))
		c.Buckets = []store.BucketTake{b}
		storetest.Decide(t, s, c, store.Allowed)
	}
	seen := make(map[string]int)
	scan := plain.Scan(t.Context(), 0, "*", 1000).Iterator()
	for scan.Next(t.Context()) {
		key := scan.Val()
		ttl, err := plain.PTTL(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		kind := key[len("weir:{3ff}") : len("weir:{3ff}")+1]
		seen[kind]++
		most := map[string]time.Duration{"b": 10*time.Minute + 10*time.Second, "q": time.Hour + store.RowGrace + time.Second, "c": 90 * time.Second}[kind]
		switch {
		case kind == "r" && ttl != -1:
			t.Errorf("%s expires in %v", key, ttl)
		case kind != "r" && (ttl <= 0 || ttl > most):
			t.Errorf("%s expires in %v, want at most %v", key, ttl, most)
		}
	}
	if err := scan.Err(); err != nil || seen["r"] != store.Tags || seen["q"] != 500 || seen["b"] < 400 || seen["c"] < 100 {
		t.Errorf("keys by kind: %v, %v", seen, err)
	}
}

// TestEndedBucketsMakeRoom: in one group, short-lived buckets come and go
// beside one that keeps the group alive.
func TestEndedBucketsMakeRoom(t *testing.T) {
	server := storetest.StartServer(t)
	plain := plainClient(t, server)
	s := openStore(t, Options{URL: server.URL})
	group := func(b store.BucketTake, i int) store.BucketTake {
		b.Tag, b.ID[0] = 5, 77
		b.ID[1], b.ID[2] = byte(i), byte(i>>8)
		return b
	}
	keep := group(storetest.NewBucket(storetest.MustRate(1, time.Hour, 1), 1), 0)
	storetest.Decide(t, s, &store.Call{Buckets: []store.BucketTake{keep}}, store.Allowed)
	short := storetest.MustRate(1_000_000, time.Second, 10)
	for i := range 1000 {
		b := group(storetest.NewBucket(short, 1), i+1) // full again 1 µs later
		storetest.Decide(t, s, &store.Call{Buckets: []store.BucketTake{b}}, store.Allowed)
	}
	key := *groupKey(5, &keep.ID)
	fields := plain.HLen(t.Context(), key).Val()
	if fields < 2 || fields > 10 {
		t.Errorf("%d fields after 1000 that ended", fields)
	}
	if ttl := plain.PTTL(t.Context(), key).Val(); ttl < 59*time.Minute || ttl > time.Hour+10*time.Second {
		t.Errorf("the group expires in %v, its last bucket is full in 1 h", ttl)
	}
	wait := store.Call{Buckets: []store.BucketTake{keep}}
	storetest.Decide(t, s, &wait, store.Denied) // the live one was kept
	if !strings.HasPrefix(key, "weir:{005}b4d") {
		t.Errorf("group key %s", key)
	}
}

// TestGroupsVanish: a group whose buckets are all full is gone within ten
// seconds of the last.
func TestGroupsVanish(t *testing.T) {
	server := storetest.StartServer(t)
	plain := plainClient(t, server)
	s := openStore(t, Options{URL: server.URL})
	for range 200 {
		b := storetest.NewBucket(storetest.MustRate(1000, time.Second, 100), 100)
		storetest.Decide(t, s, &store.Call{Buckets: []store.BucketTake{b}}, store.Allowed)
	}
	deadline := time.Now().Add(12 * time.Second)
	for {
		keys, err := plain.DBSize(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		if keys == store.Tags {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d keys, want only the %d markers", keys, store.Tags)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestClockStepsInRedis: states from before a step of the server's clock are
// put there by hand, for nobody can step it.
func TestClockStepsInRedis(t *testing.T) {
	s := openStore(t, Options{URL: shared.URL})
	plain := plainClient(t, shared)
	rate := storetest.MustRate(10, time.Second, 10)
	b := storetest.NewBucket(rate, 1)
	now := subject(t, s, plain).Now()
	if err := plain.HSet(t.Context(), *groupKey(b.Tag, &b.ID), string(b.ID[:]), now+3600e6).Err(); err != nil {
		t.Fatal(err)
	}
	c := store.Call{Buckets: []store.BucketTake{b}}
	storetest.Decide(t, s, &c, store.Denied)
	if wait := rate.WaitUs(c.Buckets[0].State, c.NowUs, 1); wait != 100_000 {
		t.Errorf("wait %d µs, want as long as from empty", wait)
	}
	subject(t, s, plain).Until(c.NowUs + 100_000)
	storetest.Decide(t, s, &c, store.Allowed)
}
