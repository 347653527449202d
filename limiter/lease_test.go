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

// TestAFailedCheckIsCoveredByWhatCameMeanwhile: the store failed, and the lease
// was exchanged since it was asked.
func TestAFailedCheckIsCoveredByWhatCameMeanwhile(t *testing.T) {
	r := newLeaseRegion(t, 1, LeaseOptions{HotChecks: 5})
	n := r.nodes[0]
	r.heat(n, "u")
	row := n.row("daily", "u")
	cost := row.held.left + 1
	r.store.decide = func(calls []*store.Call) {
		calls[0].Fail(store.ErrUnavailable)
		row.held.left, cost = cost, 0
	}
	if d := n.check(cost, "user", "u"); !d.Allowed || d.DecidedBy != DecidedByLease {
		t.Errorf("got %+v", d)
	}
	if d := n.check(1, "user", "u"); d.Allowed || d.DecidedBy != DecidedByClosed {
		t.Errorf("got %+v", d)
	}
}

// TestAFloodHidesNoHotRow: one key makes 60 checks a second, others that share
// its slot 10 between them, each its own.
func TestAFloodHidesNoHotRow(t *testing.T) {
	var c candidate
	hot, flood := 0, uint64(1000)
	for ms := range 10_000 {
		now := time.Duration(ms) * time.Millisecond
		if ms%17 == 0 {
			if want, is := c.note(1, now, 2, 40); is {
				hot++
				if want < 100 || want > 150 {
					t.Errorf("%d units a second are wanted, of about 118", want)
				}
			}
		}
		if ms%100 == 50 {
			flood++
			if _, is := c.note(flood, now, 1, 40); is {
				t.Fatal("a key that was seen once is hot")
			}
		}
	}
	if hot == 0 {
		t.Error("the row never became hot")
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
