package quota

import (
	"testing"

	"pgregory.net/rapid"
)

// TestRightsAreNeverOverspent: whatever a region does, with entries of earlier
// replicas coming in any order, what it took on balance and gave is never more
// than what it was allotted and granted, and never more was taken on balance
// than the ceiling.
func TestRightsAreNeverOverspent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Bounds{Ceiling: rapid.Int64Range(0, 60).Draw(t, "ceiling"), Allotted: rapid.Int64Range(0, 60).Draw(t, "allotted")}
		var r Row
		id := byte(0)
		type lease struct {
			id    RequestID
			units int64
		}
		var leases []lease
		nowUs := int64(1)
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				cost := rapid.Int64Range(0, 20).Draw(t, "cost")
				switch out := r.Try(b, cost); out {
				case Fits:
					r.Charge(b, cost)
				case NoRights:
					r.Refuse(cost, rapid.Bool().Draw(t, "again"))
					if r.Own.Unmet < cost {
						t.Fatalf("unmet is %d after %d was refused", r.Own.Unmet, cost)
					}
				}
			},
			"give": func(t *rapid.T) {
				keep := rapid.Int64Range(0, 5).Draw(t, "keep")
				moved := r.Give(b, rapid.SampledFrom([]string{"us", "ap"}).Draw(t, "to"), rapid.Int64Range(0, 40).Draw(t, "target"), keep)
				if moved > 0 && r.Sums().Rights(b) < keep {
					t.Fatalf("gave %d and kept %d, less than %d", moved, r.Sums().Rights(b), keep)
				}
			},
			"grant": func(t *rapid.T) { r.Own = r.Own.Grant(rapid.Int64Range(0, 3).Draw(t, "units")) },
			"refund": func(t *rapid.T) {
				before := r.Own.Net()
				moved := r.Refund(RequestID{1, byte(rapid.IntRange(0, 5).Draw(t, "receipt"))}, rapid.Int64Range(0, 30).Draw(t, "units"))
				if moved < 0 || r.Own.Net() != before-moved || r.Own.Net() < 0 {
					t.Fatalf("refunded %d of %d", moved, before)
				}
			},
			"lease": func(t *rapid.T) {
				id++
				l := lease{RequestID{2, id}, 0}
				left := r.Sums().Left(b)
				if l.units = r.TakeLease(b, "n", l.id, 100, nowUs); l.units > left/LeaseShare {
					t.Fatalf("leased %d of %d", l.units, left)
				}
				leases = append(leases, l)
			},
			"return": func(t *rapid.T) {
				if len(leases) == 0 {
					return
				}
				l := rapid.SampledFrom(leases).Draw(t, "lease")
				if got := r.ReturnLease("n", l.id, 100); got > l.units {
					t.Fatalf("%d of %d leased units came back", got, l.units)
				}
			},
			"wait": func(*rapid.T) { nowUs += LeaseNameWait.Microseconds() / 2 },
			"": func(t *rapid.T) {
				s := r.Sums()
				if s.Net > b.Ceiling || s.Rights(b) < 0 {
					t.Fatalf("%+v under %+v", s, b)
				}
			},
		})
	})
}

func TestTry(t *testing.T) {
	for _, in := range []struct {
		sums Sums
		b    Bounds
		cost int64
		want Outcome
	}{
		{Sums{}, Bounds{10, 5}, 5, Fits},
		{Sums{}, Bounds{10, 5}, 6, NoRights},
		{Sums{}, Bounds{10, 5}, 11, Exhausted},
		{Sums{}, Bounds{10, Unbounded}, 10, Fits},
		{Sums{Net: 3}, Bounds{10, 5}, 2, Fits},
		{Sums{Net: 3}, Bounds{10, 5}, 3, NoRights},
		{Sums{Net: 3, Given: 2}, Bounds{10, 5}, 1, NoRights},
		{Sums{Net: 3, Given: 2, Granted: 1}, Bounds{10, 5}, 1, Fits},
		{Sums{Net: 30, Given: 2}, Bounds{10, 5}, 0, Fits},
		{Sums{}, Bounds{10, 5}, -1, Exhausted},
		{Sums{}, Bounds{MaxUnits - 1, MaxUnits - 1}, 1<<63 - 1, Exhausted},
	} {
		if got := in.sums.Try(in.b, in.cost); got != in.want {
			t.Errorf("%+v: got %d", in, got)
		}
	}
}

// TestUnmet: a refusal is noted, again only when asked, and forgotten once the
// region has had rights for it.
func TestUnmet(t *testing.T) {
	b := Bounds{Ceiling: 100, Allotted: 10}
	var r Row
	r.Refuse(20, false)
	if r.Own != (Count{Version: 1, Unmet: 20}) {
		t.Fatalf("after a refusal: %+v", r.Own)
	}
	r.Refuse(15, false)
	if r.Own.Version != 1 {
		t.Errorf("a smaller refusal was noted: %+v", r.Own)
	}
	r.Refuse(15, true)
	if r.Own != (Count{Version: 2, Unmet: 20}) {
		t.Errorf("a marked refusal: %+v", r.Own)
	}
	r.Charge(b, 5)
	if r.Own.Unmet != 20 {
		t.Errorf("forgotten with rights for 10: %+v", r.Own)
	}
	b.Allotted = 30
	r.Charge(b, 20)
	if r.Own != (Count{Version: 4, Taken: 25}) {
		t.Errorf("had rights for 25: %+v", r.Own)
	}
}

// TestGiveCountsEarlierReplicas: what a region gave in earlier reigns is part of
// what it gave in all.
func TestGiveCountsEarlierReplicas(t *testing.T) {
	b := Bounds{Ceiling: 100, Allotted: 50}
	var r Row
	r.Merge(7, Count{Version: 3, Taken: 5, Gifts: Count{}.Give("us", 10).Gifts})
	if moved := r.Give(b, "us", 10, 0); moved != 0 || r.Own.Version != 0 {
		t.Errorf("gave %d again: %+v", moved, r.Own)
	}
	if moved := r.Give(b, "us", 25, 0); moved != 15 || r.Sums().Given != 25 {
		t.Errorf("gave %d, in all %d", moved, r.Sums().Given)
	}
	if moved := r.Give(b, "ap", 100, 8); moved != 12 || r.Sums().Rights(b) != 8 {
		t.Errorf("gave %d, kept %d", moved, r.Sums().Rights(b))
	}
}

// TestLeaseNames: a name whose lease was not returned waits, then leases again;
// the lease before stays spent.
func TestLeaseNames(t *testing.T) {
	b := Bounds{Ceiling: 1000, Allotted: 500}
	var r Row
	one, two := RequestID{1}, RequestID{2}
	if got := r.TakeLease(b, "n", one, 100, 1); got != 5 {
		t.Fatalf("leased %d, want 1 %% of 500", got)
	}
	if got := r.TakeLease(b, "n", one, 100, 2); got != 5 || r.Own.Taken != 5 {
		t.Errorf("asked again: %d, taken %d", got, r.Own.Taken)
	}
	if got := r.TakeLease(b, "n", two, 100, LeaseNameWait.Microseconds()); got != 0 {
		t.Errorf("a name that waits leased %d", got)
	}
	if got := r.TakeLease(b, "n", two, 3, LeaseNameWait.Microseconds()+1); got != 3 || r.Own.Net() != 8 {
		t.Errorf("after the wait: %d, net %d", got, r.Own.Net())
	}
	if got := r.ReturnLease("n", one, 5); got != 0 {
		t.Errorf("a spent lease returned %d", got)
	}
	if got := r.ReturnLease("n", two, 2) + r.ReturnLease("n", two, 2); got != 2 || r.Own.Net() != 6 {
		t.Errorf("returned %d, net %d", got, r.Own.Net())
	}
}

// TestTakenStaysExact: however much is given back, a reign takes no more than can
// be counted.
func TestTakenStaysExact(t *testing.T) {
	b := Bounds{Ceiling: MaxUnits - 1, Allotted: Unbounded}
	r := Row{Own: Count{Version: 1, Taken: MaxUnits - 5, Returned: MaxUnits - 5}}
	for cost, want := range map[int64]Outcome{0: Fits, 5: Fits, 6: Exhausted, 1<<63 - 1: Exhausted} {
		if got := r.Try(b, cost); got != want {
			t.Errorf("cost %d: %d, want %d", cost, got, want)
		}
	}
	if got := r.TakeLease(b, "n", RequestID{1}, 1000, 1); got != 5 {
		t.Errorf("leased %d, want the 5 that can be counted", got)
	}
}
