package redis

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"weir/limiter/store"
	"weir/limiter/store/storetest"
)

// testRegion is nodes on one server that exchange what they know, as a region's
// do: who begins or answers an exchange takes what is under way for lost.
type testRegion struct {
	t     *testing.T
	mu    sync.Mutex
	nodes []*testNode
}

// testNode is a store and what its node knows of the region's replicas.
type testNode struct {
	*Store
	region *testRegion

	mu        sync.Mutex
	exchanges []store.Reign // begun or answered: the reign to be used, 0 if yet to begin
	known     map[store.RowName]map[store.Reign]store.Entry
	told      map[store.RowName]int64 // units that callers were told of
	failed    map[store.RowName]int64 // units of calls that failed or were not believed
}

// join adds a node to the region.
func (g *testRegion) join(o Options) *testNode {
	g.t.Helper()
	n := &testNode{region: g, known: make(map[store.RowName]map[store.Reign]store.Entry),
		told: make(map[store.RowName]int64), failed: make(map[store.RowName]int64)}
	o.Exchange = func(_ context.Context, reign store.Reign) error {
		n.exchange(reign)
		return nil
	}
	n.Store = newStore(g.t, o)
	g.mu.Lock()
	g.nodes = append(g.nodes, n)
	g.mu.Unlock()
	return n
}

func (n *testNode) exchange(reign store.Reign) {
	n.region.mu.Lock()
	nodes := append([]*testNode(nil), n.region.nodes...)
	n.region.mu.Unlock()
	for _, other := range nodes {
		other.mu.Lock()
		other.exchanges = append(other.exchanges, reign)
		heard := make(map[store.RowName]map[store.Reign]store.Entry)
		for row, entries := range other.known {
			heard[row] = maps.Clone(entries)
		}
		other.mu.Unlock()
		n.mu.Lock()
		for row, entries := range heard {
			for _, e := range entries {
				n.hear(row, e)
			}
		}
		n.mu.Unlock()
	}
}

// hear takes in an entry; n.mu is held.
func (n *testNode) hear(row store.RowName, e store.Entry) {
	if e.Version == 0 {
		return
	}
	entries := n.known[row]
	if entries == nil {
		entries = make(map[store.Reign]store.Entry)
		n.known[row] = entries
	}
	if entries[e.Reign].Version < e.Version {
		entries[e.Reign] = e
	}
}

// believes says whether no exchange has come between, other than in that very
// reign; n.mu is held.
func (n *testNode) believes(epoch int, reign store.Reign) bool {
	for _, other := range n.exchanges[epoch:] {
		if other != reign {
			return false
		}
	}
	return true
}

// take asks a quota as the engine does, and returns whether the answer was to
// allow it and is believed.
func (n *testNode) take(ctx context.Context, q store.QuotaTake) bool {
	n.mu.Lock()
	q.Reign, q.Earlier = n.Reign(q.Tag), nil
	for reign, e := range n.known[q.Row] {
		if reign != q.Reign {
			q.Earlier = append(q.Earlier, e)
		}
	}
	epoch := len(n.exchanges)
	n.mu.Unlock()
	c := newCall(q)
	n.Decide(ctx, []*store.Call{c})
	n.mu.Lock()
	defer n.mu.Unlock()
	decided := c.Status == store.Allowed || c.Status == store.Denied
	if decided && n.believes(epoch, c.Quotas[0].Reign) {
		n.hear(q.Row, c.Quotas[0].Entry)
		if c.Status == store.Allowed {
			n.told[q.Row] += q.Cost
		}
		return c.Status == store.Allowed
	}
	if decided {
		n.Cancel(c)
	}
	if c.Status != store.WrongReign && c.Status != store.Denied {
		n.failed[q.Row] += q.Cost
	}
	return false
}

// net waits for a node to look at a quota, with all that it knows.
func (n *testNode) net(q store.QuotaTake) (net int64) {
	n.region.t.Helper()
	q.Cost = 0
	eventually(n.region.t, func() error {
		n.mu.Lock()
		q.Reign, q.Earlier = n.Reign(q.Tag), nil
		for reign, e := range n.known[q.Row] {
			if reign != q.Reign {
				q.Earlier = append(q.Earlier, e)
			}
		}
		n.mu.Unlock()
		c := newCall(q)
		n.Decide(n.region.t.Context(), []*store.Call{c})
		if c.Status != store.Allowed {
			return errors.Join(errors.New("not decided"), c.Err)
		}
		net = c.Quotas[0].RegionNet
		return nil
	})
	return net
}

// sum adds up what all nodes were told of, or failed to be.
func (g *testRegion) sum(q store.QuotaTake) (told, failed int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range g.nodes {
		n.mu.Lock()
		told, failed = told+n.told[q.Row], failed+n.failed[q.Row]
		n.mu.Unlock()
	}
	return told, failed
}

// load has every node ask the quotas, some calls at a time, until it is stopped.
func (g *testRegion) load(quotas ...store.QuotaTake) (stop func()) {
	ctx, cancel := context.WithCancel(g.t.Context())
	var callers sync.WaitGroup
	for _, n := range g.nodes {
		for i := range 4 {
			callers.Go(func() {
				for ; ctx.Err() == nil; i++ {
					n.take(context.WithoutCancel(ctx), quotas[i%len(quotas)])
				}
			})
		}
	}
	return func() { cancel(); callers.Wait() }
}

// underway returns once callers were told of so many more units of a quota.
func (g *testRegion) underway(q store.QuotaTake, units int64) {
	g.t.Helper()
	before, _ := g.sum(q)
	eventually(g.t, func() error {
		if now, _ := g.sum(q); now < before+units {
			return errors.New("nothing is allowed")
		}
		return nil
	})
}

// TestDataIsLostUnderLoad: it is flushed, the server restarted empty and with a
// dump that is behind, while several nodes take units. None is forgotten, and
// what was told is never more than the limit.
func TestDataIsLostUnderLoad(t *testing.T) {
	server := storetest.StartServer(t)
	plain := plainClient(t, server)
	g := &testRegion{t: t}
	for range 3 {
		waitReady(t, g.join(Options{URL: server.URL, Budget: 500 * time.Millisecond}).Store)
	}
	sub := subject(t, g.nodes[0].Store, plain)
	wide, narrow := storetest.NewQuota(sub, 1<<40, 2), storetest.NewQuota(sub, 500, 3)
	narrow.Allotted = 400
	stop := g.load(wide, narrow)
	flush := func() {
		if err := plain.FlushAll(t.Context()).Err(); err != nil {
			t.Error(err)
		}
	}
	restart := func() {
		server.Kill()
		if err := server.Start(); err != nil {
			t.Error(err)
		}
	}
	save := func() {
		if err := plain.Save(t.Context()).Err(); err != nil {
			t.Error(err)
		}
	}
	join := func() { waitReady(t, g.join(Options{URL: server.URL, Budget: 500 * time.Millisecond}).Store) }
	for _, lose := range []func(){flush, flush, join, restart, save, restart, join, flush, save, restart, restart} {
		g.underway(wide, 50)
		lose()
	}
	g.underway(wide, 50)
	stop()
	for _, n := range g.nodes {
		waitSettled(t, n.Store)
		n.exchange(0)
	}
	for _, q := range []store.QuotaTake{wide, narrow} {
		told, failed := g.sum(q)
		if net := g.nodes[0].net(q); net < told || net > told+failed {
			t.Errorf("%d counted; callers were told of %d, and %d are uncertain", net, told, failed)
		}
	}
	if told, _ := g.sum(narrow); told > 400 {
		t.Errorf("callers were told of %d units, the region may let through 400", told)
	}
}
