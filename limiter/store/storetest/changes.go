package storetest

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/limiter/quota"
	"weir/limiter/store"
)

// applySome makes a few changes and compares them with the reference's.
func (w *world) applySome(t *rapid.T, s Subject, ref *Reference) {
	changes := make([]*store.Change, rapid.IntRange(1, 4).Draw(t, "changes"))
	asked := make([]*store.Change, len(changes))
	for i := range changes {
		changes[i] = w.drawChange(t)
		c := *changes[i]
		c.Earlier = slices.Clone(c.Earlier)
		asked[i] = &c
	}
	s.Store.Apply(t.Context(), asked)
	for i, got := range asked {
		want := changes[i]
		ref.Apply(want, got.NowUs)
		if got.Status != want.Status || got.Moved != want.Moved {
			t.Fatalf("%+v: want status %d and %d moved", got, want.Status, want.Moved)
		}
		if got.Status == store.Allowed {
			compareRow(t, &got.QuotaRow, &want.QuotaRow)
		}
	}
}

// drawChange draws a change of one of the world's quotas. Leases and receipts
// are few, so that they come again.
func (w *world) drawChange(t *rapid.T) *store.Change {
	q := rapid.SampledFrom(w.quotas).Draw(t, "of")
	c := store.Change{QuotaRow: q.QuotaRow,
		Kind:    rapid.SampledFrom([]store.ChangeKind{store.Give, store.Refund, store.Grant, store.TakeLease, store.ReturnLease, store.Open}).Draw(t, "kind"),
		Units:   rapid.OneOf(rapid.Int64Range(0, 9), rapid.Int64Range(0, 1<<40)).Draw(t, "units"),
		Keep:    rapid.Int64Range(0, 9).Draw(t, "keep"),
		To:      rapid.SampledFrom(regions).Draw(t, "to"),
		Node:    rapid.SampledFrom([]string{"n1", "n2", "\x00"}).Draw(t, "node"),
		Request: quota.RequestID{15: byte(rapid.IntRange(1, 4).Draw(t, "request"))},
	}
	if c.Kind == store.Refund && rapid.Bool().Draw(t, "no receipt") {
		c.Request = quota.RequestID{}
	}
	w.drawRow(t, &c.QuotaRow)
	return &c
}

// compareRows compares what the store holds in the end with the reference.
func (w *world) compareRows(t *rapid.T, s Subject, ref *Reference) {
	got := make(map[store.RowName][]store.Entry)
	if err := s.Store.Rows(t.Context(), func(page []store.Row) error {
		for _, r := range page {
			got[r.Name] = r.Entries
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, q := range w.quotas {
		entries := got[q.Row]
		SortEntries(entries)
		if want := ref.Entries(q.ID); !slices.Equal(entries, want) {
			t.Fatalf("row holds %+v, want %+v", entries, want)
		}
	}
}

// change makes one change of a quota and wants so many units moved.
func change(t *testing.T, s Subject, q store.QuotaTake, c store.Change, moved int64) store.Change {
	t.Helper()
	c.QuotaRow = q.QuotaRow
	Apply(t, s.Store, &c, store.Allowed)
	if c.Moved != moved {
		t.Errorf("change of kind %d moved %d, want %d", c.Kind, c.Moved, moved)
	}
	return c
}

func changes(t *testing.T, s Subject) {
	q := NewQuota(s, 100_000, 50)
	q.Allotted = 1000
	ask(t, s, q, quota.Fits)

	give := store.Change{Kind: store.Give, To: "us", Units: 300, Keep: 100}
	change(t, s, q, give, 300)
	change(t, s, q, give, 0) // asked again
	give.To, give.Units = "ap", quota.MaxUnits
	if got := change(t, s, q, give, 550); got.RegionRights != 100 || got.Entry.Gifts.To("us") != 300 || got.Entry.Gifts.To("ap") != 550 {
		t.Errorf("after gifts: %+v", got)
	}
	if got := change(t, s, q, store.Change{Kind: store.Grant, Units: 400}, 400); got.RegionRights != 500 || got.Entry.Granted != 400 {
		t.Errorf("after a grant: %+v", got)
	}

	receipt := NewRequest()
	change(t, s, q, store.Change{Kind: store.Refund, Units: 20, Request: receipt}, 20)
	change(t, s, q, store.Change{Kind: store.Refund, Units: 20, Request: receipt}, 0)
	change(t, s, q, store.Change{Kind: store.Refund, Units: 10}, 10)
	change(t, s, q, store.Change{Kind: store.Refund, Units: 100}, 20) // no more is outstanding

	one, two := NewRequest(), NewRequest()
	lease := store.Change{Kind: store.TakeLease, Units: 100, Node: "n", Request: one}
	if got := change(t, s, q, lease, 5); got.RegionNet != 5 || got.RegionRights != 545 {
		t.Errorf("after a lease of 1 %% of 550: %+v", got)
	}
	change(t, s, q, lease, 5) // asked again
	lease.Request = two
	change(t, s, q, lease, 0) // one a node
	lease.Node, lease.Units = "m", 2
	change(t, s, q, lease, 2)
	back := store.Change{Kind: store.ReturnLease, Units: 3, Node: "n", Request: two}
	change(t, s, q, back, 0) // of another node
	back.Request = one
	change(t, s, q, back, 3)
	change(t, s, q, back, 0)
	wantNet(t, s, q, 4)
}

func wrongChange(t *testing.T, s Subject) {
	q := NewQuota(s, 100, 10)
	ask(t, s, q, quota.Fits)
	c := store.Change{QuotaRow: q.QuotaRow, Kind: store.Grant, Units: 5}
	c.Reign = s.Store.Reign(q.Tag) + 1
	Apply(t, s.Store, &c, store.WrongReign)
	c = store.Change{QuotaRow: q.QuotaRow, Kind: store.Refund, Units: 5}
	c.Row.Start, c.Row.End = c.Row.End, c.Row.End+3600
	Apply(t, s.Store, &c, store.WrongPeriod)
	if c.NowUs/1e6 < q.Row.Start {
		t.Errorf("the store's clock is said to be %d", c.NowUs)
	}
	for _, bad := range []store.Change{{}, {Kind: store.Give, Units: 1}, {Kind: store.Grant, Units: -1}, {Kind: store.TakeLease, Units: 1, Node: "n"}} {
		bad.QuotaRow = q.QuotaRow
		Apply(t, s.Store, &bad, store.Failed)
	}
	wantNet(t, s, q, 10)
}

func emptyChange(t *testing.T, s Subject) {
	q := NewQuota(s, 100, 10)
	q.Allotted = 50
	receipt := NewRequest()
	for _, c := range []store.Change{
		{Kind: store.Give, To: "us", Units: 0}, {Kind: store.Give, To: "us", Units: 5, Keep: 50}, {Kind: store.Refund, Units: 5, Request: receipt}, {Kind: store.Grant},
		{Kind: store.TakeLease, Node: "n", Request: receipt, Units: 5}, {Kind: store.ReturnLease, Node: "n", Request: receipt, Units: 5},
	} {
		if got := change(t, s, q, c, 0); got.Entry.Version != 0 || got.RegionRights != 50 {
			t.Errorf("kind %d: %+v", c.Kind, got)
		}
	}
	if err := s.Store.Rows(t.Context(), func(page []store.Row) error {
		for _, r := range page {
			if r.Name == q.Row {
				t.Errorf("a row is there: %+v", r)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got := change(t, s, q, store.Change{Kind: store.Open}, 0); got.Entry.Version != 1 {
		t.Errorf("an opened row: %+v", got)
	}
	ask(t, s, q, quota.Fits)
	if got := change(t, s, q, store.Change{Kind: store.Open}, 0); got.Entry.Version != 2 {
		t.Errorf("an open row opened: %+v", got)
	}
}

// cancelled: what an allowed call charged its quotas goes back, soon; what it
// charged buckets stands.
func cancelled(t *testing.T, s Subject) {
	b, q, other := NewBucket(slow, 1), NewQuota(s, 100, 7), NewQuota(s, 100, 2)
	c := store.Call{Buckets: []store.BucketTake{b}, Quotas: []store.QuotaTake{q, other}, Request: NewRequest()}
	Decide(t, s.Store, &c, store.Allowed)
	ask(t, s, q, quota.Fits)
	s.Store.Cancel(&c)
	deadline := time.Now().Add(10 * time.Second)
	for taken(t, s, q) != 7 || taken(t, s, other) != 0 {
		if time.Now().After(deadline) {
			t.Fatalf("%d and %d units taken, want 7 and 0", taken(t, s, q), taken(t, s, other))
		}
		time.Sleep(time.Millisecond)
	}
	wantLeft(t, s, b, 9)
	denied := store.Call{Quotas: []store.QuotaTake{q}, Request: NewRequest()}
	denied.Quotas[0].Limit = 0
	Decide(t, s.Store, &denied, store.Denied)
	s.Store.Cancel(&denied)
	wantNet(t, s, q, 7)
}
