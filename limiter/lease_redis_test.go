package limiter

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/limiter/rule"
	"weir/limiter/store"
	"weir/limiter/store/redis"
	"weir/limiter/store/storetest"
)

// redisNode is a node whose region's store is a Redis of its own process.
type redisNode struct {
	leaseNode
	store *redis.Store
}

func newRedisNode(t *testing.T, server *storetest.Server, name string) *redisNode {
	t.Helper()
	s, err := redis.New(redis.Options{URL: "unix://" + server.Socket(), Region: "eu", Budget: 2 * time.Second, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	rules, err := rule.Parse("rules.yaml", []byte("rules: [{name: month, count_by: [user], quota: 1000000/month}]"))
	if err != nil {
		t.Fatal(err)
	}
	ledger := &worldLedger{}
	n := &redisNode{store: s}
	n.engine = NewEngine(rules, s, ledger, time.Now)
	n.leases = NewLeases(LeaseOptions{Node: name, Store: s, Ledger: ledger, HotChecks: 5})
	n.engine.UseLeases(n.leases)
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { n.leases.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		work.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the store is ready", func() bool { return s.Ready(context.Background()) == nil })
	return n
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in 20 s: %s", what)
		}
	}
}

func (n *redisNode) net(t *testing.T) (units int64) {
	t.Helper()
	err := n.store.Rows(context.Background(), func(rows []store.Row) error {
		for _, row := range rows {
			for _, e := range row.Entries {
				units += e.Net()
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return units
}

// TestLeasesFromRedis: two nodes on one Redis. What they return leaves what they
// allowed; and what is left of a lease when Redis dies is spent to the last unit.
func TestLeasesFromRedis(t *testing.T) {
	server := storetest.StartServer(t)
	a, b := newRedisNode(t, server, "a"), newRedisNode(t, server, "b")
	var allowed atomic.Int64
	var checks sync.WaitGroup
	for _, n := range []*redisNode{a, b} {
		for range 4 {
			checks.Go(func() {
				for range 500 {
					allowed.Add(allowedUnits(n.check(1, "user", "u"), 1))
				}
			})
		}
	}
	checks.Wait()
	eventually(t, "b is leased", func() bool {
		d := b.check(1, "user", "u")
		allowed.Add(allowedUnits(d, 1))
		return d.DecidedBy == DecidedByLease
	})
	if err := b.leases.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a's lease is idle and returned", func() bool {
		leases, _ := a.leases.Held()
		return leases == 0
	})
	if got := a.net(t); got != allowed.Load() {
		t.Errorf("the store counts %d, %d were allowed", got, allowed.Load())
	}
	eventually(t, "a is leased", func() bool { return a.check(1, "user", "u").DecidedBy == DecidedByLease })
	server.Kill()
	for {
		_, held := a.leases.Held()
		d := a.check(max(1, held/2), "user", "u")
		if held == 0 {
			if d.Allowed || d.Reason != ReasonStoreUnavailable {
				t.Errorf("past the last unit: %+v", d)
			}
			return
		}
		if !d.Allowed || d.DecidedBy != DecidedByLease {
			t.Fatalf("with %d units: %+v", held, d)
		}
	}
}
