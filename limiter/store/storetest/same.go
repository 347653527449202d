package storetest

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/limiter/bucket"
	"weir/limiter/quota"
	"weir/limiter/store"
)

// sameAsReference draws sequences of calls and changes and compares every answer
// with the reference's at the instant the store names.
func sameAsReference(t *testing.T, s Subject) {
	reign := s.Store.Reign(0)
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, s)
		ref := NewReference(reign)
		for range rapid.IntRange(1, 25).Draw(t, "batches") {
			if rapid.IntRange(0, 4).Draw(t, "pause") == 0 {
				s.Until(s.Now() + rapid.Int64Range(1, 3000).Draw(t, "µs"))
			}
			if rapid.Bool().Draw(t, "changes") {
				w.applySome(t, s, ref)
			} else {
				w.decideSome(t, s, ref)
			}
		}
		w.compareRows(t, s, ref)
	})
}

func (w *world) decideSome(t *rapid.T, s Subject, ref *Reference) {
	calls := make([]*store.Call, rapid.IntRange(1, 4).Draw(t, "calls"))
	for i := range calls {
		calls[i] = w.draw(t)
	}
	asked := make([]*store.Call, len(calls))
	for i, c := range calls {
		asked[i] = &store.Call{Buckets: slices.Clone(c.Buckets), Quotas: slices.Clone(c.Quotas), Request: c.Request}
	}
	s.Store.Decide(t.Context(), asked)
	for i, got := range asked {
		ref.Decide(calls[i], got.NowUs)
		compare(t, got, calls[i])
	}
}

// world is the few buckets and quotas that a sequence is about.
type world struct {
	buckets []store.BucketTake
	quotas  []store.QuotaTake
}

func drawWorld(t *rapid.T, s Subject) world {
	var w world
	for range 3 {
		w.buckets = append(w.buckets, NewBucket(rapid.SampledFrom([]bucket.Rate{
			MustRate(100, time.Second, 5), MustRate(7, time.Second, 20), MustRate(3, time.Millisecond, 3), MustRate(5, 10*time.Second, 5),
			MustRate(999_983, 24*time.Hour, 999_983), MustRate(1_000_000, 24*time.Hour, 1_000_000), MustRate(1_000_003, time.Millisecond, 7),
			MustRate(1_000_003, 7*24*time.Hour, 100_000_000),
		}).Draw(t, "rate"), 0))
		w.quotas = append(w.quotas, NewQuota(s, rapid.SampledFrom([]int64{0, 5, 50, 1 << 52}).Draw(t, "limit"), 0))
	}
	return w
}

// draw draws a call about some of the world.
func (w world) draw(t *rapid.T) *store.Call {
	c := store.Call{Request: NewRequest()}
	for i := range w.buckets {
		if rapid.Bool().Draw(t, "bucket") {
			b := w.buckets[i]
			b.Cost = rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, b.Rate.Burst+1)).Draw(t, "cost")
			c.Buckets = append(c.Buckets, b)
		}
		if rapid.IntRange(0, 2).Draw(t, "quota") == 0 {
			c.Quotas = append(c.Quotas, w.drawQuota(t, i))
		}
	}
	return &c
}

func (w world) drawQuota(t *rapid.T, i int) store.QuotaTake {
	q := w.quotas[i]
	q.Cost = rapid.OneOf(rapid.Int64Range(0, 3), rapid.Just(q.Limit)).Draw(t, "units")
	q.Mark = rapid.Bool().Draw(t, "mark")
	w.drawRow(t, &q.QuotaRow)
	return q
}

// drawRow draws what the caller knows of a row.
func (w world) drawRow(t *rapid.T, q *store.QuotaRow) {
	q.Elsewhere = rapid.Int64Range(0, 20).Draw(t, "elsewhere")
	q.Allotted = rapid.OneOf(rapid.Just(quota.Unbounded), rapid.Int64Range(0, 60), rapid.Just(quota.Unbounded-1)).Draw(t, "allotted")
	for range rapid.IntRange(0, 2).Draw(t, "earlier") {
		q.Earlier = append(q.Earlier, drawEntry(t))
	}
	switch rapid.IntRange(0, 30).Draw(t, "wrong") {
	case 0:
		q.Row.Start, q.Row.End = q.Row.End, q.Row.End+1
	case 1:
		q.Reign = 12345
	}
}

// drawEntry draws an entry of one of a few earlier reigns.
func drawEntry(t *rapid.T) store.Entry {
	e := NewEntry(store.Reign(rapid.Uint64Range(1, 3).Draw(t, "reign")), rapid.Uint64Range(1, 4).Draw(t, "version"),
		rapid.Int64Range(0, 9).Draw(t, "taken"), rapid.Int64Range(0, 9).Draw(t, "returned"))
	if rapid.Bool().Draw(t, "more") {
		e.Granted, e.Unmet = rapid.Int64Range(0, 9).Draw(t, "granted"), rapid.Int64Range(0, 9).Draw(t, "unmet")
		for range rapid.IntRange(0, 3).Draw(t, "gifts") {
			region := rapid.SampledFrom(regions).Draw(t, "to")
			e.Gifts = e.Gifts.With(region, rapid.Int64Range(1, 9).Draw(t, "given"))
		}
	}
	return e
}

// regions have names that a careless format would take apart.
var regions = []string{"us", "us-east", "ap", "7:x=1 2:y=", "\x00\xff"}

func compare(t *rapid.T, got, want *store.Call) {
	if got.Status != want.Status {
		t.Fatalf("status %d, want %d (err: %v)", got.Status, want.Status, got.Err)
	}
	if got.Status != store.Allowed && got.Status != store.Denied {
		return
	}
	for i := range want.Buckets {
		compareBucket(t, &got.Buckets[i], &want.Buckets[i], got.NowUs)
	}
	for i := range want.Quotas {
		compareQuota(t, &got.Quotas[i], &want.Quotas[i])
	}
}

func compareBucket(t *rapid.T, got, want *store.BucketTake, nowUs int64) {
	// Of a full bucket it does not matter whether its state was dropped.
	same := got.State == want.State || got.State.FullAtUs <= nowUs && want.State.FullAtUs <= nowUs
	if !same || got.Fits != want.Fits || got.Full {
		t.Fatalf("bucket: %+v, want %+v", got, want)
	}
}

func compareQuota(t *rapid.T, got, want *store.QuotaTake) {
	if got.Outcome != want.Outcome {
		t.Fatalf("quota: outcome %d, want %d", got.Outcome, want.Outcome)
	}
	compareRow(t, &got.QuotaRow, &want.QuotaRow)
}

func compareRow(t *rapid.T, got, want *store.QuotaRow) {
	if got.Entry != want.Entry || got.RegionNet != want.RegionNet || got.RegionRights != want.RegionRights || got.Full || got.Reign != want.Reign {
		t.Fatalf("row: %+v, want %+v", got, want)
	}
}
