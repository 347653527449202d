package limiter

import (
	"context"
	"testing"
	"time"

	"weir/limiter/quota"
	"weir/limiter/store"
)

// TestAHotRowIsLeased: after so many checks within a second, and not before; the
// checks that follow do not ask the store.
func TestAHotRowIsLeased(t *testing.T) {
	r := newLeaseRegion(t, 1, LeaseOptions{})
	n := r.nodes[0]
	for i := range 49 {
		n.check(1, "user", "u")
		if n.work(); n.row("daily", "u") != nil {
			t.Fatalf("leased after %d checks", i+1)
		}
	}
	n.check(1, "user", "u")
	n.work()
	asked := r.store.decided.Load()
	d := n.check(2, "user", "u")
	if !d.Allowed || d.DecidedBy != DecidedByLease || d.Remaining != 10_000-52 || d.Limit != 10_000 || d.UntilReset != 12*time.Hour {
		t.Errorf("got %+v", d)
	}
	if r.store.decided.Load() != asked {
		t.Error("the store was asked")
	}
	// 1 % of what was left after 50 checks, rounded down.
	if leases, units := n.leases.Held(); leases != 1 || units != 99-2 || n.leases.Taken() != 99 || n.leases.Spent() != 2 || n.leases.Decided() != 1 {
		t.Errorf("%d leases hold %d units, taken %d, spent %d", leases, units, n.leases.Taken(), n.leases.Spent())
	}
}

func TestASlowRowIsNotLeased(t *testing.T) {
	r := newLeaseRegion(t, 1, LeaseOptions{})
	n := r.nodes[0]
	for range 300 {
		n.check(1, "user", "u")
		r.pass(25 * time.Millisecond) // 40 a second
		n.work()
	}
	if n.leases.Taken() != 0 {
		t.Errorf("%d units were taken", n.leases.Taken())
	}
}

// TestALookAndABucketGoToTheStore: leases decide what charges quotas only.
func TestALookAndABucketGoToTheStore(t *testing.T) {
	r := newLeaseRegion(t, 1, LeaseOptions{HotChecks: 2})
	n := r.nodes[0]
	r.heat(n, "u")
	if d := n.check(0, "user", "u"); !d.Allowed || d.DecidedBy != DecidedByStore {
		t.Errorf("a look: %+v", d)
	}
	for range 10 {
		if d := n.check(1, "mixed", "m"); !d.Allowed || d.DecidedBy != DecidedByStore {
			t.Errorf("a bucket: %+v", d)
		}
		n.work()
	}
	if n.row("mixed", "m") != nil {
		t.Error("a quota beside a bucket is leased")
	}
}

// TestAllQuotasOrNone: a check of two quotas, one without a lease, spends
// nothing of the other's.
func TestAllQuotasOrNone(t *testing.T) {
	r := newLeaseRegion(t, 1, LeaseOptions{HotChecks: 5})
	n := r.nodes[0]
	r.heat(n, "u")
	_, before := n.leases.Held()
	if d := n.check(1, "user", "u", "org", "o"); !d.Allowed || d.DecidedBy != DecidedByStore {
		t.Errorf("got %+v", d)
	}
	if _, after := n.leases.Held(); after != before {
		t.Errorf("%d units are left of %d", after, before)
	}
	for n.row("org", "o") == nil {
		n.check(1, "user", "v", "org", "o")
		n.work()
	}
	if d := n.check(1, "user", "u", "org", "o"); d.DecidedBy != DecidedByLease || len(d.Limits) != 2 {
		t.Errorf("with two leases: %+v", d)
	}
	if u, o := n.row("daily", "u").held, n.row("org", "o").held; u.left != u.units-1 || o.left != o.units-1 {
		t.Errorf("%d of %d and %d of %d are left", u.left, u.units, o.left, o.units)
	}
}

// TestAwayTheLeasesAreSpent: to the last unit, and what they do not cover is
// denied as before.
func TestAwayTheLeasesAreSpent(t *testing.T) {
	r := newLeaseRegion(t, 1, LeaseOptions{HotChecks: 5})
	n := r.nodes[0]
	r.heat(n, "u")
	_, held := n.leases.Held()
	r.store.down = true
	if d := n.check(1, "user", "other"); d.Allowed || d.Reason != ReasonStoreUnavailable {
		t.Errorf("without a lease: %+v", d)
	}
	for i := range held {
		if i == held/2 {
			r.pass(5 * time.Second) // nobody asks: the lease is kept
			n.work()
		}
		if d := n.check(held+1, "user", "u"); d.Allowed {
			t.Fatalf("a cost the lease does not cover: %+v", d)
		}
		n.work()
		if d := n.check(1, "user", "u"); !d.Allowed || d.DecidedBy != DecidedByLease {
			t.Fatalf("unit %d of %d: %+v", i+1, held, d)
		}
	}
	d := n.check(1, "user", "u")
	if d.Allowed || d.DecidedBy != DecidedByClosed || d.Reason != ReasonStoreUnavailable {
		t.Errorf("past the last unit: %+v", d)
	}
	r.store.down = false
	r.heat(n, "u")
}

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

// TestADenialStands: what came to a lease since the store was asked changes
// nothing.
func TestADenialStands(t *testing.T) {
	r := newLeaseRegion(t, 1, LeaseOptions{HotChecks: 5})
	n := r.nodes[0]
	r.heat(n, "u")
	row := n.row("daily", "u")
	cost := row.held.left + 1
	r.store.decide = func(calls []*store.Call) {
		calls[0].Status, calls[0].Quotas[0].Outcome = store.Denied, quota.Exhausted
		row.held.left = cost
	}
	if d := n.check(cost, "user", "u"); d.Allowed || d.DecidedBy != DecidedByStore || d.Reason != ReasonQuotaExhausted {
		t.Errorf("got %+v", d)
	}
}

// TestALeasedCheckIsRefundable: once, in the reign the lease was taken in, though
// the store never saw the check.
func TestALeasedCheckIsRefundable(t *testing.T) {
	r := newLeaseRegion(t, 1, LeaseOptions{HotChecks: 5})
	n := r.nodes[0]
	receipts := NewReceipts("eu")
	receipts.SetSecret(NewSecret())
	n.engine.GiveReceipts(receipts)
	refunds := NewRefunds(n.engine, receipts, &refundBench{}, []string{"eu"})
	allowed := r.heat(n, "u")
	for range 2 {
		d := n.check(7, "user", "u")
		if d.DecidedBy != DecidedByLease || d.Receipt == nil {
			t.Fatalf("got %+v", d)
		}
		for _, want := range []RefundState{Refunded, Already} {
			if got, err := refunds.Refund(context.Background(), d.Receipt, 7); err != nil || got.State != want {
				t.Errorf("got %+v, %v, want %v", got, err, want)
			}
		}
	}
	if err := n.leases.Stop(context.Background()); err != nil || r.net("daily", "u") != allowed {
		t.Errorf("%v; the store counts %d, want %d", err, r.net("daily", "u"), allowed)
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

// TestAChangedRuleEndsLeases: what was taken under another limit is not spent.
func TestAChangedRuleEndsLeases(t *testing.T) {
	r := newLeaseRegion(t, 1, LeaseOptions{HotChecks: 5})
	n := r.nodes[0]
	r.heat(n, "u")
	row := n.row("daily", "u")
	row.base.Limit-- // as if it had been taken then
	if d := n.check(1, "user", "u"); d.DecidedBy != DecidedByStore {
		t.Errorf("got %+v", d)
	}
	n.work()
	if d := n.check(1, "user", "u"); d.DecidedBy != DecidedByLease || d.Limit != 10_000 {
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

// TestTheRemainingFollowsTheWorld: what others took is known within a second.
func TestTheRemainingFollowsTheWorld(t *testing.T) {
	r := newLeaseRegion(t, 1, LeaseOptions{HotChecks: 1})
	n := r.nodes[0]
	allowed := r.heat(n, "u")
	r.ledger.elsewhere = 4_000
	r.pass(900 * time.Millisecond)
	n.check(1, "user", "u")
	r.pass(100 * time.Millisecond)
	n.work()
	if d := n.check(1, "user", "u"); d.DecidedBy != DecidedByLease || d.Remaining != 6_000-allowed-2 {
		t.Errorf("got %+v", d)
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
