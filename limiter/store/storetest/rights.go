package storetest

import (
	"testing"

	"weir/limiter/quota"
	"weir/limiter/store"
)

// ask asks a quota once and returns how it stands.
func ask(t *testing.T, s Subject, take store.QuotaTake, want quota.Outcome) store.QuotaTake {
	t.Helper()
	c := store.Call{Quotas: []store.QuotaTake{take}}
	status := store.Denied
	if want == quota.Fits {
		status = store.Allowed
	}
	Decide(t, s.Store, &c, status)
	if got := c.Quotas[0].Outcome; got != want {
		t.Errorf("outcome %d, want %d", got, want)
	}
	return c.Quotas[0]
}

// rights: what is left and what the region may let through are two bounds, and
// gifts of earlier replicas count against the second.
func rights(t *testing.T, s Subject) {
	q := NewQuota(s, 100, 6)
	q.Allotted = 10
	if got := ask(t, s, q, quota.Fits); got.RegionRights != 4 || got.RegionNet != 6 {
		t.Errorf("after 6 of 10: %+v", got)
	}
	ask(t, s, q, quota.NoRights)
	q.Cost = 101
	ask(t, s, q, quota.Exhausted)
	q.Cost, q.Elsewhere = 4, 91
	ask(t, s, q, quota.Exhausted)
	q.Elsewhere = 0
	q.Earlier = []store.Entry{{Reign: 7, Count: quota.Count{Version: 2, Taken: 2, Granted: 1}.Give("us", 2).Give("ap", 1)}}
	if got := ask(t, s, q, quota.NoRights); got.RegionRights != 0 || got.RegionNet != 8 {
		t.Errorf("with an earlier replica: %+v", got)
	}
	q.Earlier, q.Allotted = nil, 14
	ask(t, s, q, quota.Fits)
	q.Allotted = quota.Unbounded
	if got := ask(t, s, q, quota.Fits); got.RegionRights != quota.MaxUnits {
		t.Errorf("without a bound: %d units of rights", got.RegionRights)
	}
}

// unmet: the largest cost refused for want of rights stands in the entry until
// the region had rights for it.
func unmet(t *testing.T, s Subject) {
	q := NewQuota(s, 100, 20)
	q.Allotted = 10
	want := func(got store.QuotaTake, unmet int64, version uint64) {
		t.Helper()
		if got.Entry.Unmet != unmet || got.Entry.Version != version {
			t.Errorf("unmet %d in version %d, want %d in %d", got.Entry.Unmet, got.Entry.Version, unmet, version)
		}
	}
	want(ask(t, s, q, quota.NoRights), 20, 1)
	want(ask(t, s, q, quota.NoRights), 20, 1)
	q.Mark = true
	want(ask(t, s, q, quota.NoRights), 20, 2)
	q.Cost = 15
	want(ask(t, s, q, quota.NoRights), 20, 3)
	q.Cost, q.Mark = 5, false
	want(ask(t, s, q, quota.Fits), 20, 4)
	q.Allotted = 24 // 19 left
	want(ask(t, s, q, quota.Fits), 20, 5)
	q.Allotted = 30
	want(ask(t, s, q, quota.Fits), 0, 6)

	// A look and what exceeds the quota note nothing, a denial beside does.
	q.Cost, q.Allotted = 0, 0
	want(ask(t, s, q, quota.Fits), 0, 6)
	q.Cost = 200
	want(ask(t, s, q, quota.Exhausted), 0, 6)
	q.Cost = 2
	c := store.Call{Quotas: []store.QuotaTake{NewQuota(s, 0, 1), q}}
	Decide(t, s.Store, &c, store.Denied)
	want(c.Quotas[1], 2, 7)
	wantNet(t, s, q, 15)
}

// generations: a row's name comes back with its generation. Its ID tells rows
// apart.
func generations(t *testing.T, s Subject) {
	old, next := NewQuota(s, 10, 3), NewQuota(s, 10, 5)
	next.Row = old.Row
	next.Row.Generation = 4_000_000_000
	ask(t, s, old, quota.Fits)
	ask(t, s, next, quota.Fits)
	found := make(map[uint32]int64)
	err := s.Store.Rows(t.Context(), func(page []store.Row) error {
		for _, r := range page {
			if r.Name == old.Row || r.Name == next.Row {
				found[r.Name.Generation] = r.Entries[0].Taken
			}
		}
		return nil
	})
	if err != nil || len(found) != 2 || found[0] != 3 || found[next.Row.Generation] != 5 {
		t.Errorf("taken by generation: %v, %v", found, err)
	}
}
