package region

import (
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"weir/limiter/quota"
	"weir/limiter/store"
	"weir/limiter/store/storetest"
	"weir/region/config"
)

func TestWhoReadsTheStore(t *testing.T) {
	for _, c := range []struct {
		before, now []string
		lost, first bool // of node b
	}{
		{[]string{"b"}, []string{"b"}, false, true},
		{[]string{"a", "b"}, []string{"a", "b"}, false, false},
		{[]string{"b"}, []string{"b", "c"}, false, true},
		{[]string{"a", "b"}, []string{"b"}, true, true},
		{[]string{"a", "b", "c"}, []string{"a", "b"}, true, false},
		{[]string{"b", "c"}, []string{"b", "d"}, true, true}, // as many as before
		{[]string{"a", "b"}, []string{"a", "b", "c"}, false, false},
		{nil, nil, false, true},
	} {
		if lost, first := someGone(c.before, c.now), isFirst("b", c.now); lost != c.lost || first != c.first {
			t.Errorf("%v, then %v: lost %v, first %v", c.before, c.now, lost, first)
		}
	}
}

// What the store holds and no node told is taken in when a node has gone.
func TestTheStoreIsReadWhenANodeHasGone(t *testing.T) {
	server := storetest.StartServer(t)
	a := startNode(t, "eu", func(cfg *config.Config) { cfg.Store, cfg.Node = server.URL, "a" })
	b := startNode(t, "eu", func(cfg *config.Config) {
		cfg.Store, cfg.Node, cfg.Gossip.Join = server.URL, "b", []string{a.GossipAddr()}
	})
	waitUntil(t, "both know each other", func() bool { return len(a.ownMembers()) == 2 && len(b.ownMembers()) == 2 })
	// Counted as a node does that dies before it can tell.
	start := time.Now().UTC().Truncate(24 * time.Hour).Unix()
	take := store.QuotaTake{Cost: 5, QuotaRow: store.QuotaRow{Limit: 1000, Total: quota.Unbounded,
		Row: store.RowName{Rule: "daily", Key: "untold", Start: start, End: start + 86_400}}}
	a.ledger.View(&take.QuotaRow)
	call := store.Call{Quotas: []store.QuotaTake{take}}
	a.store.Decide(t.Context(), []*store.Call{&call})
	if call.Status != store.Allowed {
		t.Fatalf("status %v, %v", call.Status, call.Err)
	}
	if got := used(t, b, "untold"); got != 0 {
		t.Fatalf("b knows of %d", got)
	}
	last := pass{at: time.Now(), members: b.ownMembers()}
	stopNode(t, a)
	waitUntil(t, "b knows that a has gone", func() bool { return len(b.ownMembers()) == 1 })
	if next := b.reconcileAfter(t.Context(), last); len(next.members) != 1 || used(t, b, "untold") != 5 {
		t.Errorf("b goes on from %v and knows of %d", next, used(t, b, "untold"))
	}
}

// Only one node reads all rows every minute.
func TestTheSlowPassIsOneNodes(t *testing.T) {
	server := storetest.StartServer(t)
	long := pass{at: time.Now().Add(-2 * reconcilePeriod)}
	reads := func(n *Node) bool {
		before := scans(t, server)
		n.reconcileAfter(t.Context(), long)
		return scans(t, server) != before
	}
	a := startNode(t, "eu", func(cfg *config.Config) { cfg.Store, cfg.Node = server.URL, "a" })
	b := startNode(t, "eu", func(cfg *config.Config) {
		cfg.Store, cfg.Node, cfg.Gossip.Join = server.URL, "b", []string{a.GossipAddr()}
	})
	waitUntil(t, "both know each other", func() bool { return len(a.ownMembers()) == 2 && len(b.ownMembers()) == 2 })
	if !reads(a) || reads(b) {
		t.Error("want a to read the store, and b not to")
	}
}

// scans is what the server tells of the walks over its keys.
func scans(t *testing.T, server *storetest.Server) string {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	stats, err := client.Info(t.Context(), "commandstats").Result()
	if err := errors.Join(err, client.Close()); err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`cmdstat_scan:calls=\d+`).FindString(stats)
}
