package redis

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"weir/limiter/store"
	"weir/limiter/store/storetest"
)

// newCall asks quotas under a request of its own.
func newCall(quotas ...store.QuotaTake) *store.Call {
	return &store.Call{Quotas: append([]store.QuotaTake(nil), quotas...), Request: storetest.NewRequest()}
}

func waitSettled(t *testing.T, s *Store) Unresolved {
	t.Helper()
	eventually(t, func() error {
		if n := s.Unresolved().Waiting; n > 0 {
			return errors.New("calls wait to be settled")
		}
		return nil
	})
	return s.Unresolved()
}

// netOf is what the region took of a quota, asked past any gate.
func netOf(t *testing.T, s *Store, q store.QuotaTake) int64 {
	t.Helper()
	q.Cost, q.Reign, q.Earlier = 0, 0, nil
	c := store.Call{Quotas: []store.QuotaTake{q}}
	eventually(t, func() error { s.Decide(t.Context(), []*store.Call{&c}); return c.Err })
	return c.Quotas[0].RegionNet
}

// TestACallWhoseReplyIsLostIsTakenBack, on each of its quotas, once; a denied one
// has nothing to take back.
func TestACallWhoseReplyIsLostIsTakenBack(t *testing.T) {
	server := storetest.StartServer(t)
	plain := plainClient(t, server)
	g := newGate(t, server)
	var mu sync.Mutex
	told := make(map[store.RowName]store.QuotaRow)
	s := newStore(t, Options{URL: g.url(), Budget: 200 * time.Millisecond, Settled: func(q *store.QuotaRow) {
		mu.Lock()
		defer mu.Unlock()
		told[q.Row] = *q
	}})
	waitReady(t, s)
	sub := subject(t, s, plain)
	a, b, small := storetest.NewQuota(sub, 1000, 3), storetest.NewQuota(sub, 1000, 5), storetest.NewQuota(sub, 1, 2)
	bucket := storetest.NewBucket(storetest.MustRate(1, time.Hour, 100), 1)
	first := newCall(a, b)
	eventually(t, func() error { s.Decide(t.Context(), []*store.Call{first}); return first.Err })

	g.deaf.Store(true)
	lost := []*store.Call{newCall(a, b), newCall(b, a), newCall(a), newCall(a, small), newCall(b)}
	lost[0].Buckets = []store.BucketTake{bucket}
	s.Decide(t.Context(), lost)
	for _, c := range lost {
		if c.Status != store.Failed {
			t.Fatalf("status %d", c.Status)
		}
	}
	if n := s.Unresolved().Waiting; n != 5 {
		t.Errorf("%d wait, want 5", n)
	}
	g.deaf.Store(false)
	counts := waitSettled(t, s)
	if counts.Returned != 4 || counts.Uncharged != 1 {
		t.Errorf("settled: %+v", counts)
	}
	if x, y := netOf(t, s, a), netOf(t, s, b); x != 3 || y != 5 {
		t.Errorf("%d and %d taken, want 3 and 5", x, y)
	}
	mu.Lock()
	defer mu.Unlock()
	if got := told[a.Row]; got.Entry.Taken != 12 || got.Entry.Returned != 9 || got.RegionNet != 3 || got.Reign != s.Reign(a.Tag) {
		t.Errorf("told of %+v", got)
	}
	if got := told[b.Row].Entry; got.Taken != 20 || got.Returned != 15 {
		t.Errorf("told of %+v", got)
	}
	look := store.Call{Buckets: []store.BucketTake{bucket}}
	look.Buckets[0].Cost = 0
	storetest.Decide(t, s, &look, store.Allowed)
	if left := bucket.Rate.Remaining(look.Buckets[0].State, look.NowUs); left != 99 {
		t.Errorf("the bucket has %d left: its charge stands", left)
	}
}

// TestADelayedCallIsRefused: it was given up and then arrives.
func TestADelayedCallIsRefused(t *testing.T) {
	server := storetest.StartServer(t)
	plain := plainClient(t, server)
	g := newGate(t, server)
	s := newStore(t, Options{URL: g.url(), Budget: 300 * time.Millisecond})
	waitReady(t, s)
	q := storetest.NewQuota(subject(t, s, plain), 1000, 1)
	netOf(t, s, q) // a connection is there
	release := g.hold()
	c := newCall(q)
	s.Decide(t.Context(), []*store.Call{c})
	if c.Status != store.Failed {
		t.Fatalf("status %d", c.Status)
	}
	if counts := waitSettled(t, s); counts.Uncharged != 1 || counts.Returned != 0 {
		t.Fatalf("settled: %+v", counts)
	}
	before := scriptCalls(t, plain)
	release()
	eventually(t, func() error {
		if scriptCalls(t, plain) == before {
			return errors.New("the delayed call has not arrived")
		}
		return nil
	})
	if got := netOf(t, s, q); got != 0 {
		t.Errorf("%d taken by a call that was given up", got)
	}
	// Asked outright, it is refused too, and is not lost then.
	again := newCall(q)
	again.Request = c.Request
	storetest.Decide(t, s, again, store.Failed)
	if !errors.Is(again.Err, errCancelled) || s.Unresolved().Waiting > 0 {
		t.Errorf("asked again: %v", again.Err)
	}
}

// scriptCalls is how many scripts the server has run.
func scriptCalls(t *testing.T, plain *redis.Client) string {
	t.Helper()
	_, stats, _ := strings.Cut(plain.Info(t.Context(), "commandstats").Val(), "cmdstat_evalsha:calls=")
	calls, _, _ := strings.Cut(stats, ",")
	return calls
}

func TestACancelledCallGoesBackOnce(t *testing.T) {
	s := openStore(t, Options{URL: shared.URL})
	q := storetest.NewQuota(subject(t, s, plainClient(t, shared)), 1000, 4)
	keep, c, old := newCall(q), newCall(q), newCall(q)
	for _, c := range []*store.Call{keep, c, old} {
		storetest.Decide(t, s, c, store.Allowed)
	}
	for range 3 {
		s.Cancel(c)
	}
	// One that was noted in another slot than the one its cancellation names.
	for range 2 {
		s.giveUp((*call)(old), nil, slotNow()+7, true)
	}
	if counts := waitSettled(t, s); counts.Returned != 2 || counts.Uncharged != 3 {
		t.Errorf("settled: %+v", counts)
	}
	if got := netOf(t, s, q); got != 4 {
		t.Errorf("%d taken, want 4", got)
	}
	denied := newCall(q)
	denied.Quotas[0].Limit = 0
	storetest.Decide(t, s, denied, store.Denied)
	s.Cancel(denied)
	if got := s.Unresolved(); got.Waiting > 0 {
		t.Errorf("a denied call waits: %+v", got)
	}
}

// TestNothingGoesBackInAnotherReign: what the call charged ended with its reign.
func TestNothingGoesBackInAnotherReign(t *testing.T) {
	server := storetest.StartServer(t)
	plain := plainClient(t, server)
	g := newGate(t, server)
	s := newStore(t, Options{URL: g.url(), Budget: 200 * time.Millisecond})
	waitReady(t, s)
	q := storetest.NewQuota(subject(t, s, plain), 1000, 10)
	netOf(t, s, q)
	g.deaf.Store(true)
	c := newCall(q)
	s.Decide(t.Context(), []*store.Call{c})
	if err := plain.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	g.deaf.Store(false)
	if counts := waitSettled(t, s); counts.Ended != 1 {
		t.Errorf("settled: %+v", counts)
	}
	next := newCall(q)
	eventually(t, func() error { s.Decide(t.Context(), []*store.Call{next}); return next.Err })
	if got := netOf(t, s, q); got != 10 {
		t.Errorf("%d taken, want the 10 of the new reign", got)
	}
}

// sleeper is a connection on which time passes while it is read, as it does for
// a process that is suspended.
type sleeper struct {
	net.Conn
	clock *atomic.Int64
	nap   *atomic.Int64
}

func (c sleeper) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.clock.Add(c.nap.Load())
	return n, err
}

// TestALateReplyIsLost: by the clock that runs through suspension, for Go's does
// not.
func TestALateReplyIsLost(t *testing.T) {
	var clock, nap atomic.Int64
	s := openStore(t, Options{URL: shared.URL, Clock: func() time.Duration { return time.Duration(clock.Load()) },
		dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			var d net.Dialer
			c, err := d.DialContext(ctx, network, addr)
			return sleeper{c, &clock, &nap}, err
		}})
	q := storetest.NewQuota(subject(t, s, plainClient(t, shared)), 1000, 10)
	b := storetest.NewBucket(storetest.MustRate(1, time.Hour, 10), 1)
	netOf(t, s, q)
	nap.Store(int64(10 * time.Second)) // the budget of tests is 5 s
	c, only := newCall(q), &store.Call{Buckets: []store.BucketTake{b}}
	s.Decide(t.Context(), []*store.Call{c})
	s.Decide(t.Context(), []*store.Call{only})
	nap.Store(0)
	for _, c := range []*store.Call{c, only} {
		if c.Status != store.Failed || !errors.Is(c.Err, errLate) || !errors.Is(c.Err, store.ErrUnavailable) {
			t.Errorf("status %d, err %v", c.Status, c.Err)
		}
	}
	// To take it back may have been late too, and repeated.
	if counts := waitSettled(t, s); counts.Returned+counts.Uncharged != 1 {
		t.Errorf("settled: %+v", counts)
	}
	if got := netOf(t, s, q); got != 0 {
		t.Errorf("%d taken", got)
	}
}

// TestUnresolvedCallsAreBounded in number and in age.
func TestUnresolvedCallsAreBounded(t *testing.T) {
	server := storetest.StartServer(t)
	var clock atomic.Int64
	s := openStore(t, Options{URL: server.URL, Budget: 200 * time.Millisecond, Clock: func() time.Duration { return time.Duration(clock.Load()) }})
	c := newCall(storetest.NewQuota(subject(t, s, plainClient(t, server)), 1000, 1))
	eventually(t, func() error { s.Decide(t.Context(), []*store.Call{c}); return c.Err })
	server.Kill()
	c.Status = store.Allowed
	for range maxUnresolved + 50 {
		s.Cancel(c)
	}
	if got := s.Unresolved(); got.Waiting != maxUnresolved || got.Overflowed != 50 {
		t.Errorf("%+v, want %d waiting", got, maxUnresolved)
	}
	clock.Add(int64(unresolvedLife))
	if counts := waitSettled(t, s); counts.Expired != maxUnresolved {
		t.Errorf("%+v", counts)
	}
}

// TestACallThatWasNeverSentIsNotUnresolved: a server that is away leaves nothing
// to take back.
func TestACallThatWasNeverSentIsNotUnresolved(t *testing.T) {
	server := storetest.StartServer(t)
	s := openStore(t, Options{URL: server.URL, Budget: 100 * time.Millisecond, Pool: 2})
	q := storetest.NewQuota(subject(t, s, plainClient(t, server)), 1000, 1)
	server.Kill()
	for range 50 {
		c := newCall(q)
		s.Decide(t.Context(), []*store.Call{c})
		if c.Status != store.Failed {
			t.Fatalf("status %d", c.Status)
		}
	}
	// Those that met an old connection were written to it.
	if got := s.Unresolved().Waiting; got > 2 {
		t.Errorf("%d calls wait", got)
	}
}
