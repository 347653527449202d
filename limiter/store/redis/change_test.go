package redis

import (
	"fmt"
	"testing"
	"time"

	"weir/limiter/quota"
	"weir/limiter/store"
	"weir/limiter/store/storetest"
)

// applyOne makes one change of a quota and wants so many units moved.
func applyOne(t *testing.T, s *Store, q store.QuotaTake, c store.Change, moved int64) {
	t.Helper()
	c.QuotaRow = q.QuotaRow
	storetest.Apply(t, s, &c, store.Allowed)
	if c.Moved != moved {
		t.Errorf("change of kind %d moved %d, want %d", c.Kind, c.Moved, moved)
	}
}

// TestALeaseNotReturnedIsSpent: what the server holds is moved a minute back by
// hand, for nobody waits so long.
func TestALeaseNotReturnedIsSpent(t *testing.T) {
	s := openStore(t, Options{URL: shared.URL})
	plain := plainClient(t, shared)
	q := storetest.NewQuota(subject(t, s, plain), 10_000, 1000)
	q.Allotted = 2000
	c := store.Call{Quotas: []store.QuotaTake{q}}
	storetest.Decide(t, s, &c, store.Allowed)
	one, two := storetest.NewRequest(), storetest.NewRequest()
	applyOne(t, s, q, store.Change{Kind: store.TakeLease, Node: "n", Request: one, Units: 8}, 8)
	key := idKey(q.Tag, 'l', &q.ID)
	value := plain.HGet(t.Context(), key, "n").Val()
	var units, takenUs int64
	if _, err := fmt.Sscanf(value[32:], "%d %d", &units, &takenUs); err != nil || units != 8 {
		t.Fatalf("the lease is held as %q, %v", value, err)
	}
	move := func(us int64) {
		t.Helper()
		if err := plain.HSet(t.Context(), key, "n", value[:32]+fmt.Sprintf("%d %d", units, takenUs-us)).Err(); err != nil {
			t.Fatal(err)
		}
	}
	move(quota.LeaseNameWait.Microseconds() - 30e6)
	applyOne(t, s, q, store.Change{Kind: store.TakeLease, Node: "n", Request: two, Units: 8}, 0)
	move(quota.LeaseNameWait.Microseconds())
	applyOne(t, s, q, store.Change{Kind: store.TakeLease, Node: "n", Request: two, Units: 8}, 8)
	applyOne(t, s, q, store.Change{Kind: store.ReturnLease, Node: "n", Request: one, Units: 8}, 0)
	applyOne(t, s, q, store.Change{Kind: store.ReturnLease, Node: "n", Request: two, Units: 8}, 8)
	c.Quotas[0].Cost, c.Quotas[0].Reign = 0, 0
	storetest.Decide(t, s, &c, store.Allowed)
	if got := c.Quotas[0].RegionNet; got != 1008 {
		t.Errorf("%d taken, want 1000 and the 8 of the spent lease", got)
	}
}

// TestLeasesAndReceiptsLieBesideTheRow: they make no check slower, end with the
// row, and mean nothing in another reign.
func TestLeasesAndReceiptsLieBesideTheRow(t *testing.T) {
	server := storetest.StartServer(t)
	plain := plainClient(t, server)
	s := openStore(t, Options{URL: server.URL})
	q := storetest.NewQuota(subject(t, s, plain), 100_000, 1000)
	c := store.Call{Quotas: []store.QuotaTake{q}}
	storetest.Decide(t, s, &c, store.Allowed)
	lease, receipt := storetest.NewRequest(), storetest.NewRequest()
	applyOne(t, s, q, store.Change{Kind: store.TakeLease, Node: "n", Request: lease, Units: 5}, 5)
	applyOne(t, s, q, store.Change{Kind: store.Refund, Request: receipt, Units: 5}, 5)
	row := rowKey(q.Tag, &q.ID)
	if n := plain.HLen(t.Context(), row).Val(); n != 2 {
		t.Errorf("the row has %d fields, want its name and one entry", n)
	}
	end := plain.PExpireTime(t.Context(), row).Val()
	for _, kind := range []byte("lf") {
		if got := plain.PExpireTime(t.Context(), idKey(q.Tag, kind, &q.ID)).Val(); got != end || got != time.Duration(q.Row.GoneUs()/1000)*time.Millisecond {
			t.Errorf("%c expires at %v, the row at %v", kind, got, end)
		}
	}
	// The markers are lost, the rest is not: another reign.
	for tag := range markerKeys {
		if err := plain.Del(t.Context(), markerKeys[tag]).Err(); err != nil {
			t.Fatal(err)
		}
	}
	c = store.Call{Quotas: []store.QuotaTake{q}}
	storetest.Decide(t, s, &c, store.Allowed)
	applyOne(t, s, q, store.Change{Kind: store.ReturnLease, Node: "n", Request: lease, Units: 5}, 0)
	applyOne(t, s, q, store.Change{Kind: store.TakeLease, Node: "n", Request: storetest.NewRequest(), Units: 3}, 3)
	applyOne(t, s, q, store.Change{Kind: store.Refund, Request: receipt, Units: 5}, 5)
}
