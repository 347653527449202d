package storetest

import (
	"testing"

	"weir/limiter/quota"
	"weir/limiter/store"
)

// takenStaysExact: units that were given back do not make room for more than a
// reign can count exactly; and a row takes in as many earlier entries as it may.
func takenStaysExact(t *testing.T, s Subject) {
	const half = quota.MaxUnits / 2
	q := NewQuota(s, quota.MaxUnits, half)
	asked := byte(0)
	take := func(cost int64, want store.Status) {
		t.Helper()
		asked++
		c := store.Call{Quotas: []store.QuotaTake{q}, Request: quota.RequestID{1: 1, 15: asked}}
		c.Quotas[0].Cost = cost
		Decide(t, s.Store, &c, want)
	}
	for range 2 {
		take(half-1, store.Allowed)
		back := store.Change{QuotaRow: q.QuotaRow, Kind: store.Refund, Units: half - 1}
		if s.Store.Apply(t.Context(), []*store.Change{&back}); back.Moved != half-1 {
			t.Fatalf("gave back %d: status %d, %v", back.Moved, back.Status, back.Err)
		}
	}
	take(3, store.Denied)
	take(2, store.Allowed)
	take(1, store.Denied)
	wantNet(t, s, q, 2)
}

func manyEarlier(t *testing.T, s Subject) {
	q := NewQuota(s, 1_000_000, 1)
	for i := range 4095 {
		q.Earlier = append(q.Earlier, store.Entry{Reign: store.Reign(i + 2), Count: quota.Count{Version: 1, Taken: 2}})
	}
	c := store.Call{Quotas: []store.QuotaTake{q}, Request: quota.RequestID{2, 1}}
	Decide(t, s.Store, &c, store.Allowed)
	wantNet(t, s, q, 1+2*4095)
}
