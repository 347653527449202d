package redis

import (
	"slices"
	"strings"
	"testing"
	"time"

	"weir/limiter/store"
	"weir/limiter/store/storetest"
)

// take asks a quota for a unit as the engine does: again, with what the caller
// knows, when the store is in another reign. Known is what the caller holds of
// the region's replicas.
func take(t *testing.T, s *Store, q store.QuotaTake, known map[store.Reign]store.Entry) store.QuotaTake {
	t.Helper()
	for range 3 {
		q.Reign = s.Reign(q.Tag)
		q.Earlier = nil
		for reign, e := range known {
			if reign != q.Reign {
				q.Earlier = append(q.Earlier, e)
			}
		}
		c := store.Call{Quotas: []store.QuotaTake{q}}
		s.Decide(t.Context(), []*store.Call{&c})
		switch c.Status {
		case store.WrongReign:
			continue
		case store.Allowed:
			known[c.Quotas[0].Reign] = c.Quotas[0].Entry
			return c.Quotas[0]
		default:
			t.Fatalf("status %d, err %v", c.Status, c.Err)
		}
	}
	t.Fatal("another reign each time")
	return q
}

func TestFlushBeginsAReign(t *testing.T) {
	server := storetest.StartServer(t)
	plain := plainClient(t, server)
	s := openStore(t, Options{URL: server.URL})
	q := storetest.NewQuota(subject(t, s, plain), 1000, 1)
	known := make(map[store.Reign]store.Entry)
	for i := range int64(30) {
		if i%10 == 5 {
			if err := plain.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if got := take(t, s, q, known); got.RegionNet != i+1 {
			t.Fatalf("take %d: the region has %d", i+1, got.RegionNet)
		}
	}
	if len(known) != 4 {
		t.Errorf("%d reigns, want one and one more for each flush", len(known))
	}
	// A bucket starts full, and needs no reign.
	c := store.Call{Buckets: []store.BucketTake{storetest.NewBucket(storetest.MustRate(1, time.Hour, 1), 1)}}
	storetest.Decide(t, s, &c, store.Allowed)
	if err := plain.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	storetest.Decide(t, s, &c, store.Allowed)
}

// TestAcallThatNamesNoReignIsAskedAgain: it brings all its caller knows.
func TestACallThatNamesNoReignIsAskedAgain(t *testing.T) {
	server := storetest.StartServer(t)
	plain := plainClient(t, server)
	s := openStore(t, Options{URL: server.URL})
	q := storetest.NewQuota(subject(t, s, plain), 1000, 1)
	c := store.Call{Quotas: []store.QuotaTake{q}}
	storetest.Decide(t, s, &c, store.Allowed)
	if err := plain.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	old := c.Quotas[0].Entry
	q.Earlier = []store.Entry{old}
	again := store.Call{Quotas: []store.QuotaTake{q}}
	storetest.Decide(t, s, &again, store.Allowed)
	if got := again.Quotas[0]; got.RegionNet != 2 || got.Entry.Taken != 1 || got.Entry.Reign == old.Reign {
		t.Errorf("after the flush: %+v", got)
	}
}

func TestTwoNodesShareAReign(t *testing.T) {
	server := storetest.StartServer(t)
	plain := plainClient(t, server)
	a, b := newStore(t, Options{URL: server.URL}), newStore(t, Options{URL: server.URL})
	waitReady(t, a)
	waitReady(t, b)
	q := storetest.NewQuota(subject(t, a, plain), 1000, 1)
	known := make(map[store.Reign]store.Entry)
	for i := range int64(20) {
		if i == 10 {
			if err := plain.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}
		s := a
		if i%2 == 1 {
			s = b
		}
		if got := take(t, s, q, known); got.RegionNet != i+1 {
			t.Fatalf("take %d: the region has %d", i+1, got.RegionNet)
		}
	}
	if len(known) != 2 || a.Reign(q.Tag) != b.Reign(q.Tag) {
		t.Errorf("%d reigns; the nodes say %x and %x", len(known), a.Reign(q.Tag), b.Reign(q.Tag))
	}
}

// TestRestart: the server comes back empty, and then with data that is behind.
// Each time a reign begins, what its caller knows goes on counting, and the
// entry of the reign before is never written again.
func TestRestart(t *testing.T) {
	server := storetest.StartServer(t)
	plain := plainClient(t, server)
	s := openStore(t, Options{URL: server.URL})
	q := storetest.NewQuota(subject(t, s, plain), 1000, 1)
	known := make(map[store.Reign]store.Entry)
	count := int64(0)
	takeOne := func() {
		t.Helper()
		count++
		if got := take(t, s, q, known); got.RegionNet != count {
			t.Fatalf("the region has %d, want %d", got.RegionNet, count)
		}
	}
	for range 3 {
		takeOne()
	}
	restart(t, server, s)
	for range 3 {
		takeOne()
	}
	// Saved here; what follows is lost with the server.
	if err := plain.Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	behind := known[s.Reign(q.Tag)]
	for range 4 {
		takeOne()
	}
	lost := known[s.Reign(q.Tag)]
	restart(t, server, s)
	if fields := plain.HGetAll(t.Context(), rowKey(q.Tag, &q.ID)).Val(); !strings.HasPrefix(fields[formatReign(behind.Reign)], "3 3 ") {
		t.Fatalf("the server did not come back with what it saved: %q", fields)
	}
	for range 3 {
		takeOne()
	}
	if len(known) != 3 {
		t.Errorf("%d reigns, want 3", len(known))
	}
	if known[lost.Reign] != lost {
		t.Errorf("the lost reign's entry was written again: %+v, was %+v", known[lost.Reign], lost)
	}
	err := s.Rows(t.Context(), func(page []store.Row) error {
		for _, r := range page {
			if r.Name == q.Row && !slices.Contains(r.Entries, lost) {
				t.Errorf("the row holds %+v, not %+v", r.Entries, lost)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// restart kills the server and starts it again. Calls made at once fail or are
// decided; none may find the reign before.
func restart(t *testing.T, server *storetest.Server, s *Store) {
	t.Helper()
	server.Kill()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	b := storetest.NewBucket(storetest.MustRate(1, time.Hour, 100), 1)
	eventually(t, func() error {
		c := store.Call{Buckets: []store.BucketTake{b}}
		s.Decide(t.Context(), []*store.Call{&c})
		return c.Err
	})
}

// TestACallMeetsTheNewRunAtOnce: without the watch's help, the first call after
// a restart finds out by itself.
func TestACallMeetsTheNewRunAtOnce(t *testing.T) {
	server := storetest.StartServer(t)
	s := openStore(t, Options{URL: server.URL})
	q := storetest.NewQuota(subject(t, s, plainClient(t, server)), 1000, 1)
	first := take(t, s, q, make(map[store.Reign]store.Entry))
	server.Kill()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	c := store.Call{Quotas: []store.QuotaTake{q}}
	c.Quotas[0].Reign = first.Reign
	eventually(t, func() error {
		s.Decide(t.Context(), []*store.Call{&c})
		return c.Err
	})
	if c.Status != store.WrongReign {
		t.Errorf("status %d with the old reign, want WrongReign", c.Status)
	}
}

// TestForeignRowsAreLeftOut: what cannot be read is said and skipped.
func TestForeignRowsAreLeftOut(t *testing.T) {
	server := storetest.StartServer(t)
	plain := plainClient(t, server)
	var log logLines
	s := openStore(t, Options{URL: server.URL, Log: log.logger()})
	good := take(t, s, storetest.NewQuota(subject(t, s, plain), 10, 1), make(map[store.Reign]store.Entry))
	for key, fields := range map[string][]any{
		"weir:{000}q1": {"n", "nonsense"},
		"weir:{000}q2": {"n", "1 2 0 0 ", "00000000000000ff", "nonsense"},
		"weir:{000}q3": {"00000000000000ff", "1 1 1"},
	} {
		if err := plain.HSet(t.Context(), key, fields...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	var got []store.Row
	if err := s.Rows(t.Context(), func(page []store.Row) error { got = append(got, page...); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Name != good.Row {
		t.Errorf("got %+v", got)
	}
	if log.count("cannot be read") != 1 || log.count("rows=3") != 1 {
		t.Error("not said once")
	}
	// A key of another type keeps no node from starting, and hides no row.
	if err := plain.Set(t.Context(), "weir:{000}q4", "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	got = nil
	if err := s.Rows(t.Context(), func(page []store.Row) error { got = append(got, page...); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Name != good.Row || log.count("rows=4") != 1 {
		t.Errorf("beside a key of another type: got %+v", got)
	}
}
