package limiter

import "testing"

// TestALeasedCheckHasAReceipt of its own: refunds of two such checks do not take
// each other for repeated.
func TestALeasedCheckHasAReceipt(t *testing.T) {
	r := newLeaseRegion(t, 1, LeaseOptions{HotChecks: 5})
	n := r.nodes[0]
	n.engine.Rules().Rule("daily").Limits[0].Quota.Refundable = true
	receipts := NewReceipts("eu")
	receipts.SetSecret(NewSecret())
	n.engine.GiveReceipts(receipts)
	refunds := NewRefunds(n.engine, receipts, nil, nil)
	r.heat(n, "u")
	one, two := n.check(3, "user", "u"), n.check(2, "user", "u")
	if one.DecidedBy != DecidedByLease || two.DecidedBy != DecidedByLease {
		t.Fatalf("not leased: %+v, %+v", one, two)
	}
	before := n.check(0, "user", "u").Remaining
	for _, d := range []Decision{one, two} {
		for _, want := range []RefundState{Refunded, Already} {
			if got, err := refunds.Refund(t.Context(), d.Receipt, 0); err != nil || got.State != want {
				t.Errorf("got %+v, %v, want %v", got, err, want)
			}
		}
	}
	if after := n.check(0, "user", "u").Remaining; after != before+5 {
		t.Errorf("%d left, %d before", after, before)
	}
}
