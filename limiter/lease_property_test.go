package limiter

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/limiter/store"
)

// leaseRun is a random run of two nodes that share a store, and what it may be
// held to.
type leaseRun struct {
	*leaseRegion
	t       *rapid.T
	lossy   bool // replies to changes get lost; else nodes crash
	allowed map[string]int64
	// crashed is what leases of crashed nodes still held.
	crashed map[string]int64
	born    int
	most    int64
}

// TestLeasesNeverAllowMoreThanTheRights: two nodes, random checks, idle times, a
// store that is away now and then, answers that are not believed, and either
// nodes that crash or replies that get lost. Never is more allowed than the
// region has rights for; and when all leases are returned the store has counted
// what was allowed, and the units crashed nodes held.
func TestLeasesNeverAllowMoreThanTheRights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newLeaseRun(t)
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			r.step()
			r.bound()
		}
		r.end()
	})
}

func newLeaseRun(t *rapid.T) *leaseRun {
	options := LeaseOptions{HotChecks: rapid.IntRange(1, 4).Draw(t, "hot"), Rows: rapid.IntRange(1, 4).Draw(t, "rows")}
	r := &leaseRun{leaseRegion: newLeaseRegion(t, 2, options), t: t,
		allowed: map[string]int64{}, crashed: map[string]int64{}, most: 10_000}
	if rapid.Bool().Draw(t, "few rights") {
		r.most = 3_000
		r.ledger.allotted = r.most
	}
	if r.lossy = rapid.Bool().Draw(t, "lossy"); r.lossy {
		r.store.lose = func(*store.Change) loss {
			return rapid.SampledFrom([]loss{lossNone, lossNone, lossNone, lossBefore, lossAfter}).Draw(t, "loss")
		}
	}
	return r
}

func (r *leaseRun) step() {
	n := r.nodes[rapid.IntRange(0, 1).Draw(r.t, "node")]
	switch rapid.IntRange(0, 9).Draw(r.t, "step") {
	case 0, 1, 2, 3:
		r.burst(n)
	case 4:
		r.together(n)
	case 5, 6:
		n.work()
	case 7:
		// In all less than LeaseNameWait: a lease whose return failed is not taken
		// for spent.
		r.pass(time.Duration(rapid.SampledFrom([]int{1, 10, 140}).Draw(r.t, "ms")) * time.Millisecond)
	case 8:
		r.store.down = rapid.IntRange(0, 3).Draw(r.t, "down") == 0
	case 9:
		r.mishap(n)
	}
}

func (r *leaseRun) mishap(n *leaseNode) {
	switch {
	case rapid.Bool().Draw(r.t, "disbelief"):
		r.ledger.disbelieve = 2
	case !r.lossy:
		r.crash(n)
	}
}

// crash forgets a node; another comes up under another name.
func (r *leaseRun) crash(n *leaseNode) {
	n.leases.each(func(_ *leaseShard, row *leaseRow) {
		r.crashed[row.base.Row.Key] += row.unspent()
	})
	r.born++
	*n = *r.newNode(fmt.Sprintf("again-%d", r.born), LeaseOptions{HotChecks: int(n.leases.hot), Rows: n.leases.most})
}

func (r *leaseRun) burst(n *leaseNode) {
	attrs := rapid.SampledFrom([][]string{{"user", "a"}, {"user", "b"}, {"org", "o"}, {"user", "a", "org", "o"}, {"user", "b", "org", "o"}, {"mixed", "m"}}).Draw(r.t, "attrs")
	cost := rapid.SampledFrom([]int64{0, 1, 3, 10, 200}).Draw(r.t, "cost")
	for range rapid.IntRange(1, 30).Draw(r.t, "checks") {
		if d := n.check(cost, attrs...); d.Allowed {
			r.count(cost, attrs)
		} else if d.DecidedBy == DecidedByLease {
			r.t.Fatalf("a lease denied: %+v", d)
		}
	}
}

func (r *leaseRun) together(n *leaseNode) {
	reqs := []Request{*ask(2, "user", "a"), *ask(3, "user", "b"), *ask(1, "user", "a")}
	if rapid.Bool().Draw(r.t, "batch") {
		for i, d := range n.engine.CheckBatch(context.Background(), reqs) {
			if d.Allowed {
				r.count(reqs[i].Cost, []string{"user", reqs[i].Attributes["user"]})
			}
		}
		return
	}
	all := true
	for _, d := range n.engine.CheckTogether(context.Background(), reqs) {
		all = all && d.Allowed
	}
	if all {
		r.count(3, []string{"user", "a", "user", "b"})
	}
}

func (r *leaseRun) count(cost int64, attrs []string) {
	for i := 1; i < len(attrs); i += 2 {
		r.allowed[attrs[i]] += cost
	}
}

func (r *leaseRun) bound() {
	for key, units := range r.allowed {
		most := r.most
		if key == "o" {
			most = max(most, r.ledger.allotted)
			if r.ledger.allotted == 0 {
				most = 40_000
			}
		}
		if units > most {
			r.t.Fatalf("%d units of %s are allowed, with rights for %d", units, key, most)
		}
	}
}

// end brings the store back, has all leases returned and compares.
func (r *leaseRun) end() {
	r.store.down, r.store.lose, r.ledger.disbelieve = false, nil, 0
	for _, n := range r.nodes {
		if err := n.leases.Stop(context.Background()); err != nil {
			r.t.Fatalf("%v", err)
		}
		l := n.leases
		if _, held := l.Held(); l.Taken() != l.Spent()+l.Returned()+l.Forgotten() || held != 0 {
			r.t.Errorf("taken %d, spent %d, returned %d, forgotten %d, held %d", l.Taken(), l.Spent(), l.Returned(), l.Forgotten(), held)
		}
	}
	for rule, keys := range map[string][]string{"daily": {"a", "b"}, "org": {"o"}, "mixed": {"m"}} {
		for _, key := range keys {
			if got, want := r.net(rule, key), r.allowed[key]+r.crashed[key]; got != want {
				r.t.Errorf("%s: the store counts %d, %d were allowed and %d crashed", key, got, r.allowed[key], r.crashed[key])
			}
		}
	}
}
