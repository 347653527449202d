package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"weir/limiter/store"
	"weir/limiter/store/storetest"
)

// markers counts the markers by what they hold.
func markers(t *testing.T, plain *redis.Client) map[string]int {
	t.Helper()
	values, err := plain.MGet(t.Context(), markerKeys[:]...).Result()
	if err != nil {
		t.Fatal(err)
	}
	held := make(map[string]int)
	for _, v := range values {
		held[fmt.Sprint(v)]++
	}
	return held
}

// setMarkers writes all markers by hand.
func setMarkers(t *testing.T, plain *redis.Client, value string) {
	t.Helper()
	pairs := make([]any, 0, 2*store.Tags)
	for tag := range markerKeys {
		pairs = append(pairs, markerKeys[tag], value)
	}
	if err := plain.MSet(t.Context(), pairs...).Err(); err != nil {
		t.Fatal(err)
	}
}

// TestExchangeComesFirst: before a node's first call, before it opens a reign
// and before it uses one that another opened; and not else.
func TestExchangeComesFirst(t *testing.T) {
	server := storetest.StartServer(t)
	plain := plainClient(t, server)
	var claimed atomic.Bool
	var told atomic.Uint64
	var exchanges [2]atomic.Int64
	var stores [2]*Store
	for i := range stores {
		stores[i] = newStore(t, Options{URL: server.URL, Exchange: func(_ context.Context, reign store.Reign) error {
			exchanges[i].Add(1)
			told.Store(uint64(reign))
			for marker := range markers(t, plain) {
				if strings.HasPrefix(marker, claimPrefix) {
					claimed.Store(true)
				}
			}
			return nil
		}})
		waitReady(t, stores[i])
		if got := exchanges[i].Load(); got != 1 {
			t.Errorf("store %d exchanged %d times before its first reign", i, got)
		}
		if opener := i == 0; claimed.Swap(false) != opener {
			t.Errorf("store %d: the data was claimed: %v", i, !opener)
		}
		want := store.Reign(0) // yet to begin
		if i > 0 {
			want = stores[0].Reign(0)
		}
		if got := store.Reign(told.Load()); got != want {
			t.Errorf("store %d: exchanged for reign %x, want %x", i, got, want)
		}
	}
	q := storetest.NewQuota(subject(t, stores[0], plain), 1000, 1)
	for i := range 3 {
		if i > 0 {
			if err := plain.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}
		before := stores[0].Reign(q.Tag)
		for n := range stores {
			c := newCall(q)
			if i == 0 {
				storetest.Decide(t, stores[n], c, store.Allowed)
			} else {
				// It was made before the exchange, which may have told its caller more.
				storetest.Decide(t, stores[n], c, store.WrongReign)
				storetest.Decide(t, stores[n], c, store.Allowed)
			}
			if got := exchanges[n].Load(); got != int64(1+i) {
				t.Errorf("after flush %d store %d exchanged %d times", i, n, got)
			}
		}
		if now := stores[0].Reign(q.Tag); now != stores[1].Reign(q.Tag) || (now == before) != (i == 0) {
			t.Errorf("after flush %d: reigns %x and %x, before %x", i, now, stores[1].Reign(q.Tag), before)
		}
	}
	// Lost connections are no new reign.
	if err := plain.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { c := newCall(q); stores[0].Decide(t.Context(), []*store.Call{c}); return c.Err })
	if got := exchanges[0].Load(); got != 3 {
		t.Errorf("exchanged %d times, want 3", got)
	}
}

// TestNothingIsDecidedUnderAClaim: neither by the opener nor by nodes that use
// the reign before, whatever they ask.
func TestNothingIsDecidedUnderAClaim(t *testing.T) {
	server := storetest.StartServer(t)
	plain := plainClient(t, server)
	other := openStore(t, Options{URL: server.URL, Budget: 50 * time.Millisecond})
	sub := subject(t, other, plain)
	q := storetest.NewQuota(sub, 1000, 1)
	netOf(t, other, q)
	var opener *Store
	asked := 0
	ask := func() {
		for _, s := range []*Store{opener, other} {
			for _, reign := range []store.Reign{0, s.Reign(q.Tag)} {
				c := newCall(q)
				c.Quotas[0].Reign = reign
				s.Decide(t.Context(), []*store.Call{c})
				g := store.Change{QuotaRow: q.QuotaRow, Kind: store.Grant, Units: 1}
				g.Reign = reign
				s.Apply(t.Context(), []*store.Change{&g})
				if c.Status == store.Allowed || c.Status == store.Denied || g.Status == store.Allowed {
					t.Errorf("under a claim: status %d, %d", c.Status, g.Status)
				}
				asked++
			}
		}
	}
	var ready sync.WaitGroup
	ready.Add(1)
	opener = newStore(t, Options{URL: server.URL, Budget: 50 * time.Millisecond, Exchange: func(context.Context, store.Reign) error {
		ready.Wait()
		for marker := range markers(t, plain) {
			if strings.HasPrefix(marker, claimPrefix) {
				ask()
				break
			}
		}
		return nil
	}})
	ready.Done()
	waitReady(t, opener)
	if err := plain.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { c := newCall(q); opener.Decide(t.Context(), []*store.Call{c}); return c.Err })
	if asked == 0 {
		t.Error("nobody asked under a claim")
	}
}

// TestAClaimLeftBehindIsTakenOver: its opener was killed before it opened the
// reign. While it is fresh, it is waited for.
func TestAClaimLeftBehindIsTakenOver(t *testing.T) {
	server := storetest.StartServer(t)
	plain := plainClient(t, server)
	entered := make(chan struct{})
	dead, err := New(Options{URL: server.URL, Exchange: func(ctx context.Context, _ store.Reign) error {
		close(entered)
		<-ctx.Done()
		return ctx.Err()
	}})
	if err != nil {
		t.Fatal(err)
	}
	<-entered
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	for marker, n := range markers(t, plain) {
		if n != store.Tags || !strings.HasPrefix(marker, claimPrefix) {
			t.Fatalf("%d markers hold %q", n, marker)
		}
	}
	start := time.Now()
	s := openStore(t, Options{URL: server.URL})
	if waited := time.Since(start); waited < claimPatience {
		t.Errorf("a fresh claim was replaced after %v", waited)
	}
	storetest.Decide(t, s, newCall(storetest.NewQuota(subject(t, s, plain), 10, 1)), store.Allowed)
	// Its own, and those of another run, are not waited for.
	setMarkers(t, plain, claimPrefix+"00000000000000ff anotherrun")
	storetest.Decide(t, s, newCall(storetest.NewQuota(subject(t, s, plain), 10, 1)), store.Allowed)
}

// TestAnOpenerWhoseClaimWasReplacedBeginsAgain: with an exchange anew, and the
// reign is the other's.
func TestAnOpenerWhoseClaimWasReplacedBeginsAgain(t *testing.T) {
	server := storetest.StartServer(t)
	plain := plainClient(t, server)
	var other string
	exchanges := 0
	s := openStore(t, Options{URL: server.URL, Exchange: func(ctx context.Context, _ store.Reign) error {
		if exchanges++; exchanges == 1 {
			run, err := serverRun(ctx, plain)
			if err != nil {
				return err
			}
			other = formatMarker(0xabc, run, 0)
			setMarkers(t, plain, other)
		}
		return nil
	}})
	if exchanges != 2 || s.Reign(5) != 0xabc {
		t.Errorf("%d exchanges, reign %x", exchanges, s.Reign(5))
	}
	if held := markers(t, plain); held[other] != store.Tags {
		t.Errorf("markers: %v", held)
	}
}

// TestOpenersRace: many open at once, again and again; all agree each time.
func TestOpenersRace(t *testing.T) {
	server := storetest.StartServer(t)
	plain := plainClient(t, server)
	var stores []*Store
	for range 4 {
		stores = append(stores, newStore(t, Options{URL: server.URL, Exchange: func(ctx context.Context, _ store.Reign) error { return pause(ctx, 20*time.Millisecond) }}))
	}
	sub := subject(t, stores[0], plain)
	for round := range 5 {
		q := storetest.NewQuota(sub, 1000, 1)
		var all sync.WaitGroup
		for _, s := range stores {
			all.Go(func() {
				c := newCall(q)
				for range 3 { // each waits for the reign as long as its budget
					if s.Decide(t.Context(), []*store.Call{c}); c.Status == store.Allowed {
						break
					}
				}
				if c.Status != store.Allowed {
					t.Errorf("status %d, err %v", c.Status, c.Err)
				}
			})
		}
		all.Wait()
		if got := netOf(t, stores[0], q); got != 4 {
			t.Errorf("round %d: %d taken, want 4", round, got)
		}
		for _, s := range stores {
			for tag := range uint16(store.Tags) {
				if s.Reign(tag) != stores[0].Reign(tag) {
					t.Fatalf("round %d: reigns differ", round)
				}
			}
		}
		if err := plain.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnExchangeThatCannotBeIsAwaited: the store is not used meanwhile and says
// so once.
func TestAnExchangeThatCannotBeIsAwaited(t *testing.T) {
	server := storetest.StartServer(t)
	var log logLines
	var able atomic.Bool
	tries := make(chan struct{}, 1000)
	s := newStore(t, Options{URL: server.URL, Budget: 20 * time.Millisecond, Log: log.logger(), Exchange: func(context.Context, store.Reign) error {
		tries <- struct{}{}
		if !able.Load() {
			return errors.New("has not met its peers")
		}
		return nil
	}})
	for range 4 {
		<-tries
	}
	c := newCall(storetest.NewQuota(subject(t, s, plainClient(t, server)), 10, 1))
	s.Decide(t.Context(), []*store.Call{c})
	if c.Status != store.Failed || !errors.Is(c.Err, store.ErrUnavailable) {
		t.Errorf("status %d, err %v", c.Status, c.Err)
	}
	if err := s.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "has not met its peers") {
		t.Errorf("ready: %v", err)
	}
	able.Store(true)
	waitReady(t, s)
	eventually(t, func() error { s.Decide(t.Context(), []*store.Call{c}); return c.Err })
	if log.count("not used yet") != 1 || log.count("unreachable") != 0 {
		t.Errorf("logged:\n%s", strings.Join(log.lines, ""))
	}
}
