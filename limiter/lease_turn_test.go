package limiter

import (
	"context"
	"fmt"
	"testing"
	"time"

	"weir/limiter/store"
)

// TestASpentLeaseIsExchanged in one round trip: first returned, then taken.
func TestASpentLeaseIsExchanged(t *testing.T) {
	r := newLeaseRegion(t, 1, LeaseOptions{HotChecks: 5})
	n := r.nodes[0]
	r.heat(n, "u")
	r.store.lose = func(*store.Change) loss { return lossNone }
	n.check(n.row("daily", "u").held.left-3, "user", "u")
	n.check(4, "user", "u") // not covered: the store decides
	n.work()
	if kinds := r.store.applied; len(kinds) != 2 || kinds[0] != store.ReturnLease || kinds[1] != store.TakeLease {
		t.Errorf("asked for %v", kinds)
	}
	if n.leases.Returned() != 3 {
		t.Errorf("%d units were returned, want 3", n.leases.Returned())
	}
	if d := n.check(4, "user", "u"); d.DecidedBy != DecidedByLease {
		t.Errorf("got %+v", d)
	}
}

// TestIdleLeasesAreReturned: then the store counts what was allowed.
func TestIdleLeasesAreReturned(t *testing.T) {
	r := newLeaseRegion(t, 1, LeaseOptions{HotChecks: 5})
	n := r.nodes[0]
	allowed := r.heat(n, "u")
	n.check(7, "user", "u")
	r.pass(999 * time.Millisecond)
	if n.work(); n.row("daily", "u") == nil {
		t.Fatal("returned before its time")
	}
	r.pass(time.Millisecond)
	if n.work(); r.net("daily", "u") != allowed+7 || n.row("daily", "u") != nil {
		t.Errorf("the store counts %d, want %d", r.net("daily", "u"), allowed+7)
	}
}

// TestARefusalReturnsTheLease: of the node that was refused, and none is taken
// for a while.
func TestARefusalReturnsTheLease(t *testing.T) {
	r := newLeaseRegion(t, 2, LeaseOptions{HotChecks: 5})
	a, b := r.nodes[0], r.nodes[1]
	allowed := r.heat(a, "u")
	b.check(10_000-r.net("daily", "u"), "user", "u")
	cost := a.row("daily", "u").held.left + 1
	if d := a.check(cost, "user", "u"); d.Allowed || d.Reason != ReasonQuotaExhausted {
		t.Fatalf("got %+v", d)
	}
	a.work()
	if leases, units := a.leases.Held(); leases != 0 || units != 0 || r.net("daily", "u") >= 10_000 {
		t.Errorf("%d leases hold %d units, the store counts %d", leases, units, r.net("daily", "u"))
	}
	for range 20 {
		allowed++ // leaves the rest
		if d := a.check(1, "user", "u"); d.DecidedBy != DecidedByStore {
			t.Fatalf("leased again at once: %+v", d)
		}
		a.work()
	}
	r.pass(leaseIdle)
	if a.work(); a.leases.rows.Load() != 0 {
		t.Error("the row is still kept")
	}
}

// TestLeasesBeyondTheBoundAreReturned: the one that was used longest ago first.
func TestLeasesBeyondTheBoundAreReturned(t *testing.T) {
	r := newLeaseRegion(t, 1, LeaseOptions{HotChecks: 5, Rows: 2})
	n := r.nodes[0]
	r.heat(n, "first")
	r.pass(time.Millisecond)
	r.heat(n, "second")
	r.pass(time.Millisecond)
	n.check(1, "user", "first") // now the second is the oldest
	r.pass(time.Millisecond)
	r.heat(n, "third")
	if n.row("daily", "second") != nil || n.row("daily", "first") == nil || n.leases.Evicted() != 1 {
		t.Errorf("%d were evicted", n.leases.Evicted())
	}
	if leases, _ := n.leases.Held(); leases != 2 {
		t.Errorf("%d leases are held, want 2", leases)
	}
	if r.net("daily", "second") != 5 {
		t.Errorf("the store counts %d of the second, want 5", r.net("daily", "second"))
	}
}

// TestTheBoundHoldsWhenNothingCanBeReturned: then no other lease is taken.
func TestTheBoundHoldsWhenNothingCanBeReturned(t *testing.T) {
	for name, away := range map[string]func(*leaseNode, *flaky){
		"a check failed":  func(n *leaseNode, _ *flaky) { n.leases.missed() },
		"a return failed": func(_ *leaseNode, s *flaky) { s.lose = func(*store.Change) loss { return lossBefore } },
	} {
		r := newLeaseRegion(t, 1, LeaseOptions{HotChecks: 5, Rows: 1})
		n := r.nodes[0]
		r.heat(n, "first")
		for range 5 {
			n.check(1, "user", "second")
		}
		away(n, r.store)
		n.leases.attend(context.Background(), n.leases.waiting(<-n.leases.asks))
		if n.row("daily", "second") != nil || n.leases.rows.Load() != 1 {
			t.Errorf("%s: %d rows are leased, want 1", name, n.leases.rows.Load())
		}
	}
}

// TestAsksPastTheBoundAreCounted, and the rows ask again.
func TestAsksPastTheBoundAreCounted(t *testing.T) {
	r := newLeaseRegion(t, 1, LeaseOptions{HotChecks: 1})
	n := r.nodes[0]
	for i := range leaseAsks + 3 {
		n.check(1, "user", fmt.Sprint(i))
	}
	if n.leases.Dropped() != 3 {
		t.Errorf("%d asks were dropped, want 3", n.leases.Dropped())
	}
	last := fmt.Sprint(leaseAsks + 2)
	n.work()
	n.check(1, "user", last)
	if n.work(); n.row("daily", last) == nil {
		t.Error("a row whose ask was dropped is not leased when it asks again")
	}
}

// TestAnotherReignsLeaseIsSpentAndNotReturned, and forgotten once nobody uses it.
func TestAnotherReignsLeaseIsSpentAndNotReturned(t *testing.T) {
	r := newLeaseRegion(t, 1, LeaseOptions{HotChecks: 5})
	n := r.nodes[0]
	r.heat(n, "u")
	reign := r.store.Reign(0)
	r.store.Store = r.newStore()
	r.store.lose = func(*store.Change) loss { return lossNone }
	p := n.engine.plan()
	p.add(ask(1, "user", "u"))
	n.engine.decide(context.Background(), p.alone[:])
	if p.call.Status != store.Allowed || p.call.Quotas[0].Reign != reign {
		t.Errorf("the charge is of reign %x, want %x", p.call.Quotas[0].Reign, reign)
	}
	_, held := n.leases.Held()
	r.pass(leaseIdle)
	n.work()
	if len(r.store.applied) > 0 || n.leases.Forgotten() != uint64(held) {
		t.Errorf("asked for %v, %d forgotten, want %d", r.store.applied, n.leases.Forgotten(), held)
	}
}

// TestAPeriodsLeaseEndsWithIt: it is not spent in the next and not returned.
func TestAPeriodsLeaseEndsWithIt(t *testing.T) {
	r := newLeaseRegion(t, 1, LeaseOptions{HotChecks: 5})
	n := r.nodes[0]
	r.heat(n, "u")
	_, held := n.leases.Held()
	r.store.lose = func(*store.Change) loss { return lossNone }
	r.pass(12 * time.Hour)
	if d := n.check(1, "user", "u"); d.DecidedBy != DecidedByStore || d.Remaining != 9_999 {
		t.Errorf("got %+v", d)
	}
	n.work()
	if leases, _ := n.leases.Held(); leases != 0 || n.leases.Forgotten() != uint64(held) || len(r.store.applied) > 0 {
		t.Errorf("%d leases, %d forgotten, want %d; asked for %v", leases, n.leases.Forgotten(), held, r.store.applied)
	}
}

// TestAResetEndsLeases: those of the generation before are not spent for long.
func TestAResetEndsLeases(t *testing.T) {
	r := newLeaseRegion(t, 1, LeaseOptions{HotChecks: 5})
	n := r.nodes[0]
	r.heat(n, "u")
	r.ledger.generation = 1
	r.pass(500 * time.Millisecond)
	n.check(1, "user", "u")
	r.pass(500 * time.Millisecond)
	n.work()
	if d := n.check(1, "user", "u"); d.DecidedBy != DecidedByStore || d.Remaining != 9_999 {
		t.Errorf("got %+v", d)
	}
}

// TestADisbelievedLeaseIsNotSpent: it goes back.
func TestADisbelievedLeaseIsNotSpent(t *testing.T) {
	r := newLeaseRegion(t, 1, LeaseOptions{HotChecks: 5})
	n := r.nodes[0]
	for range 5 {
		n.check(1, "user", "u")
	}
	r.ledger.disbelieve = 1
	n.leases.attend(context.Background(), n.leases.waiting(<-n.leases.asks))
	if r.net("daily", "u") == 5 || n.leases.Disbelieved() != 1 {
		t.Fatalf("nothing was taken: the store counts %d", r.net("daily", "u"))
	}
	if d := n.check(1, "user", "u"); d.DecidedBy != DecidedByStore {
		t.Errorf("it is spent: %+v", d)
	}
	if n.work(); r.net("daily", "u") != 6 {
		t.Errorf("the store counts %d, want 6", r.net("daily", "u"))
	}
}

// TestStopGivesUp when the store does not come back, and says what is out.
func TestStopGivesUp(t *testing.T) {
	r := newLeaseRegion(t, 1, LeaseOptions{HotChecks: 5})
	n := r.nodes[0]
	r.heat(n, "u")
	r.store.down = true
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := n.leases.Stop(ctx); err == nil {
		t.Error("nothing is out")
	}
	r.store.down = false
	if err := n.leases.Stop(context.Background()); err != nil || r.net("daily", "u") != 5 {
		t.Errorf("%v; the store counts %d, want 5", err, r.net("daily", "u"))
	}
}
