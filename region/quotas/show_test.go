package quotas

import (
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"weir/crdt"
	weirv1 "weir/proto/weir/v1"
)

func entry(region string, e crdt.Entry, gifts ...any) crdt.Entry {
	e.Replica, e.Version = crdt.Replica{Region: region, Nonce: 1}, 1
	for i := 0; i < len(gifts); i += 2 {
		e.Gifts = e.Gifts.With(gifts[i].(string), int64(gifts[i+1].(int)))
	}
	return e
}

// TestRightsAreShown: every number of a row, by region, and that they add up.
func TestRightsAreShown(t *testing.T) {
	s := newTable()
	row := crdt.NewRow(crdt.RowName{Rule: "daily", Key: "a", Start: 100 * day, End: 101 * day, Generation: 2})
	row.Merge(entry("eu", crdt.Entry{Taken: 700, Returned: 50, Granted: 10, Unmet: 30}, "ap", 5))
	row.Merge(entry("us", crdt.Entry{Taken: 100}, "eu", 300))
	s.keep(row)
	got, _ := reader(t, s).Get("daily", "a")
	want := new(weirv1.Quota)
	if err := prototext.Unmarshal([]byte(`
		rule: "daily" key: "a" limit: 1000 used: 750 remaining: 250 overshoot: 10 generation: 2 time_zone: "UTC"
		period_start_unix_seconds: 8640000 period_end_unix_seconds: 8726400
		by_region {
			region: "eu" taken: 700 given_back: 50 share: 505 rights: 160 granted: 10 unmet: 30
			given_to {region: "ap" units: 5} received_from {region: "us" units: 300}
		}
		by_region {region: "us" taken: 100 share: 505 rights: 105 given_to {region: "eu" units: 300}}
		exposure: 15
	`), want); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(got, want) {
		t.Errorf("got %v\nwant %v", prototext.Format(got), prototext.Format(want))
	}
	for _, u := range got.ByRegion {
		rights := u.Share + u.Granted - u.Taken + u.GivenBack
		for _, g := range u.GivenTo {
			rights -= g.Units
		}
		for _, g := range u.ReceivedFrom {
			rights += g.Units
		}
		if rights != u.Rights {
			t.Errorf("%s: the parts make %d, rights are %d", u.Region, rights, u.Rights)
		}
	}
}

// TestUnboundedHasNoRights, and is in its own zone.
func TestUnboundedHasNoRights(t *testing.T) {
	s := newTable()
	r := reader(t, s)
	none, _ := r.Get("free", "a")
	row := crdt.NewRow(crdt.RowName{Rule: "free", Key: "a", Start: none.PeriodStartUnixSeconds, End: none.PeriodEndUnixSeconds})
	row.Merge(entry("eu", crdt.Entry{Taken: 30}))
	s.keep(row)
	got, _ := r.Get("free", "a")
	if !got.OvershootUnbounded || got.Overshoot != 0 || got.ByRegion[0].Rights != 0 || got.Exposure != 70 || got.TimeZone != "America/Los_Angeles" {
		t.Errorf("got %v", got)
	}
}

// TestAResetIsShown: of a key that was reset, only the newest generation.
func TestAResetIsShown(t *testing.T) {
	s := newTable()
	s.add("daily", "a", 100*day, 900)
	s.add("daily", "b", 100*day, 7)
	r := reader(t, s)
	list := func(want ...int64) {
		t.Helper()
		s.changes.Add(1)
		page, err := r.List(t.Context(), &weirv1.ListQuotasRequest{PageSize: 10, Order: weirv1.QuotaOrder_QUOTA_ORDER_USED})
		if err != nil || len(page.Quotas) != len(want) || page.Total != int64(len(want)) {
			t.Fatalf("got %v, %v, want %d", page, err, want)
		}
		for i, q := range page.Quotas {
			if q.Used != want[i] {
				t.Errorf("place %d: got %v, want %d used", i, q, want[i])
			}
		}
	}
	list(900, 7)
	for generation := uint32(1); generation <= 2; generation++ {
		row := crdt.NewRow(crdt.RowName{Rule: "daily", Key: "a", Start: 100 * day, End: 101 * day, Generation: generation})
		row.Merge(entry("us", crdt.Entry{Taken: int64(generation)}))
		s.keep(row)
	}
	list(7, 2)
	walks := s.walks.Load()
	if list(7, 2); s.walks.Load() != walks+1 {
		t.Errorf("%d walks for a page whose resets are known", s.walks.Load()-walks)
	}
	if q, _ := r.Get("daily", "a"); q.Used != 2 || q.Generation != 2 {
		t.Errorf("got %v", q)
	}
	s.nowNs.Add(day * 1e9)
	if list(); len(r.resets.newest) != 0 {
		t.Errorf("resets of an ended period are kept: %v", r.resets.newest)
	}
}

// TestACutMakesANewPage: what can go over grows though no row changed.
func TestACutMakesANewPage(t *testing.T) {
	s := newTable()
	s.add("daily", "a", 100*day, 1000)
	r := reader(t, s)
	in := &weirv1.ListQuotasRequest{PageSize: 10}
	for _, want := range []int64{0, 10, 0} {
		page, err := r.Recent(t.Context(), in)
		if err != nil || page.Quotas[0].Exposure != want {
			t.Errorf("got %v, %v, want %d", page, err, want)
		}
		s.cut.Store(want == 0)
	}
}
