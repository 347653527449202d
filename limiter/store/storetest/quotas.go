package storetest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"weir/limiter/bucket"
	"weir/limiter/quota"
	"weir/limiter/store"
)

func wrongPeriod(t *testing.T, s Subject) {
	b := NewBucket(slow, 1)
	right := NewQuota(s, 10, 1)
	for name, move := range map[string]func(*store.RowName){
		"ended":        func(r *store.RowName) { r.Start, r.End = r.Start-7200, r.Start },
		"not begun":    func(r *store.RowName) { r.Start, r.End = r.End, r.End+7200 },
		"ends now":     func(r *store.RowName) { r.End = s.Now() / 1e6 },
		"begins later": func(r *store.RowName) { r.Start = s.Now()/1e6 + 60 },
	} {
		wrong := NewQuota(s, 10, 1)
		move(&wrong.Row)
		wrong.Earlier = []store.Entry{NewEntry(7, 1, 3, 0)}
		c := store.Call{Buckets: []store.BucketTake{b}, Quotas: []store.QuotaTake{right, wrong}}
		before := s.Now()
		Decide(t, s.Store, &c, store.WrongPeriod)
		if c.NowUs < before || c.NowUs > s.Now() {
			t.Errorf("%s: the store's clock is said to be %d, not in %d to %d", name, c.NowUs, before, s.Now())
		}
	}
	wantLeft(t, s, b, 10)
	wantNet(t, s, right, 0)
}

func wrongReign(t *testing.T, s Subject) {
	q := NewQuota(s, 10, 1)
	c := store.Call{Buckets: []store.BucketTake{NewBucket(slow, 1)}, Quotas: []store.QuotaTake{q}}
	Decide(t, s.Store, &c, store.Allowed)
	reign := s.Store.Reign(q.Tag)
	if reign == 0 || c.Quotas[0].Reign != reign || c.Quotas[0].Entry.Reign != reign {
		t.Fatalf("decided in %x, entry of %x, the store says %x", c.Quotas[0].Reign, c.Quotas[0].Entry.Reign, reign)
	}
	c.Quotas[0].Reign = reign + 1
	c.Quotas[0].Earlier = []store.Entry{NewEntry(7, 1, 3, 0)}
	Decide(t, s.Store, &c, store.WrongReign)
	wantLeft(t, s, c.Buckets[0], 9)
	wantNet(t, s, q, 1)
	c.Quotas[0].Reign = reign
	Decide(t, s.Store, &c, store.Allowed)
	wantNet(t, s, q, 5)
}

// earlier: what earlier replicas counted is merged by version, in whatever
// order and however often it comes, in allowed calls and in denied ones.
func earlier(t *testing.T, s Subject) {
	entries := []store.Entry{
		NewEntry(7, 1, 10, 0), NewEntry(7, 2, 10, 4), NewEntry(7, 5, 30, 5),
		NewEntry(8, 3, 2, 0), NewEntry(1<<64-1, 1, 100, 0),
	}
	for range 5 {
		q := NewQuota(s, 1000, 1)
		own := int64(0)
		order := append(slices.Clone(entries), entries[rand.N(len(entries))])
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for len(order) > 0 {
			n := 1 + rand.N(len(order))
			take := q
			take.Earlier = slices.Clone(order[:n])
			// An entry said to be of this reign is not merged.
			take.Earlier = append(take.Earlier, NewEntry(s.Store.Reign(q.Tag), 1000, 500, 0))
			order = order[n:]
			status := store.Allowed
			if rand.N(2) == 0 {
				take.Limit, status = 0, store.Denied
			} else {
				own++
			}
			c := store.Call{Quotas: []store.QuotaTake{take}}
			Decide(t, s.Store, &c, status)
		}
		wantNet(t, s, q, own+25+2+100)
	}
}

// drawnCount has everything an entry may have.
var drawnCount = quota.Count{Version: 1 << 50, Taken: 1 << 52, Returned: 1 << 51, Granted: 3, Unmet: 4}.
	Give("us = 5:x", 1).Give("us", 12345).Give("\x00é", 1<<40)

func rows(t *testing.T, s Subject) {
	want := make(map[store.RowName][]store.Entry)
	for i := range 50 {
		q := NewQuota(s, 1<<52+10_000, int64(1+i))
		q.Row.Rule = []string{"", "a rule", "n", "5 5"}[i%4]
		q.Row.Generation = uint32(i % 2 * math.MaxUint32)
		if i%3 == 0 {
			q.Earlier = []store.Entry{NewEntry(9, 2, 5, 1), {Reign: 10, Count: drawnCount}}
		}
		c := store.Call{Quotas: []store.QuotaTake{q}}
		Decide(t, s.Store, &c, store.Allowed)
		entries := append(slices.Clone(q.Earlier), c.Quotas[0].Entry)
		SortEntries(entries)
		want[q.Row] = entries
	}
	got := make(map[store.RowName][]store.Entry)
	err := s.Store.Rows(t.Context(), func(page []store.Row) error {
		for _, r := range page {
			SortEntries(r.Entries)
			got[r.Name] = r.Entries
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, entries := range want {
		if !slices.Equal(got[name], entries) {
			t.Errorf("row %+v holds %+v, want %+v", name, got[name], entries)
		}
	}
	enough := errors.New("enough")
	if err := s.Store.Rows(t.Context(), func([]store.Row) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("an error of yield came back as %v", err)
	}
}

func invalid(t *testing.T, s Subject) {
	good := NewBucket(slow, 1)
	q := NewQuota(s, 10, 1)
	for name, spoil := range map[string]func(*store.Call){
		"bucket tag":    func(c *store.Call) { c.Buckets[0].Tag = store.Tags },
		"bucket cost":   func(c *store.Call) { c.Buckets[0].Cost = -1 },
		"no rate":       func(c *store.Call) { c.Buckets[0].Rate = bucket.Rate{} },
		"quota tag":     func(c *store.Call) { c.Quotas[0].Tag = 1<<16 - 1 },
		"quota cost":    func(c *store.Call) { c.Quotas[0].Cost = -5 },
		"allotted":      func(c *store.Call) { c.Quotas[0].Allotted = -1 },
		"quota periods": func(c *store.Call) { c.Quotas[0].Row.End = c.Quotas[0].Row.Start },
	} {
		bad := store.Call{Buckets: []store.BucketTake{good}, Quotas: []store.QuotaTake{q}}
		spoil(&bad)
		fine := store.Call{Buckets: []store.BucketTake{NewBucket(slow, 1)}}
		s.Store.Decide(t.Context(), []*store.Call{&bad, &fine})
		if bad.Status != store.Failed || !errors.Is(bad.Err, store.ErrCall) || errors.Is(bad.Err, store.ErrUnavailable) {
			t.Errorf("%s: status %d, err %v", name, bad.Status, bad.Err)
		}
		if fine.Status != store.Allowed {
			t.Errorf("%s: the call beside it: status %d, err %v", name, fine.Status, fine.Err)
		}
	}
	wantLeft(t, s, good, 10)
	wantNet(t, s, q, 0)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	late := store.Call{Buckets: []store.BucketTake{good}}
	s.Store.Decide(ended, []*store.Call{&late})
	if late.Status != store.Failed || late.Err == nil {
		t.Errorf("after its context ended: status %d, err %v", late.Status, late.Err)
	}
}
