package ledger

import (
	"testing"
	"time"

	"weir/crdt"
	"weir/gossip"
	"weir/limiter/quota"
	"weir/limiter/store"
)

// TestAllottedIsShareAndGifts: half of the total, and what others gave.
func TestAllottedIsShareAndGifts(t *testing.T) {
	l := newTestLedger(t, 10)
	q := quotaTake("k", 1)
	q.Total = 101
	if l.View(q); q.Allotted != 51 {
		t.Errorf("allotted %d of 101, want 51: eu comes first", q.Allotted)
	}
	record(l, RowName(q.Row), crdt.Entry{Replica: crdt.Replica{Region: "us", Nonce: 9}, Version: 1, Gifts: crdt.Gifts("").With("eu", 7).With("ap", 3)})
	if l.View(q); q.Allotted != 58 {
		t.Errorf("allotted %d after a gift of 7, want 58", q.Allotted)
	}
	q.Total = quota.Unbounded
	if l.View(q); q.Allotted != quota.Unbounded {
		t.Errorf("allotted %d without a bound", q.Allotted)
	}
}

// TestTheNewestGenerationIsViewed: a reset anywhere begins the row anew here.
func TestTheNewestGenerationIsViewed(t *testing.T) {
	l := newTestLedger(t, 10)
	q := quotaTake("k", 1)
	l.Record(answer(q, 5, 5))
	reset := RowName(q.Row)
	reset.Generation = 2
	record(l, reset, crdt.Entry{Replica: crdt.Replica{Region: "us", Nonce: 9}, Version: 1, Taken: 3})
	if !l.View(q) || q.Row.Generation != 2 || q.Elsewhere != 3 || q.ID != store.ID(reset.ID()) {
		t.Errorf("viewed %+v", q)
	}
}

// TestRepliesFromBeforeAnExchangeAreLost.
func TestRepliesFromBeforeAnExchangeAreLost(t *testing.T) {
	l := newTestLedger(t, 10)
	q := quotaTake("k", 1)
	l.View(q)
	if _, err := l.rows.(*gossip.Mesh).Exchange(t.Context(), 0); err != nil { // alone: at once
		t.Fatal(err)
	}
	if l.Record(answer(q, 1, 1)) {
		t.Error("a reply from before an exchange is believed")
	}
	l.View(q)
	if !l.Record(answer(q, 2, 2)) {
		t.Error("a reply to a call made since is not believed")
	}
	l.View(q)
	if _, err := l.rows.(*gossip.Mesh).Exchange(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if !l.Record(answer(q, 3, 3)) {
		t.Error("a reply from the reign that an exchange was made in is not believed")
	}
	l.View(q)
	if q.Entry = (store.Entry{}); !l.Record(q) {
		t.Error("a look is not believed")
	}
}

// TestAWantIsToldOnceAnInterval, also where smaller costs pass meanwhile.
func TestAWantIsToldOnceAnInterval(t *testing.T) {
	now := time.Hour
	r := newRefusals(func() time.Duration { return now })
	id := crdt.RowID{1}
	for i, step := range []struct {
		wait time.Duration
		due  bool
	}{{0, true}, {markInterval / 2, false}, {markInterval / 2, true}, {0, false}, {time.Hour, true}} {
		now += step.wait
		if got := r.due(id); got != step.due {
			t.Errorf("step %d: due is %v", i, got)
		}
		r.note(id)
	}
	for i := range 2 * maxRefusals {
		r.note(crdt.RowID{2, byte(i >> 16), byte(i >> 8), byte(i)})
	}
	if len(r.rows) > maxRefusals {
		t.Errorf("%d rows are remembered, the bound is %d", len(r.rows), maxRefusals)
	}
	now += time.Hour
	if r.note(id); len(r.rows) != 1 {
		t.Errorf("%d rows are remembered after an hour", len(r.rows))
	}
	if r.dropDue(); !r.some.Load() || r.due(id) {
		t.Error("a refusal of just now is forgotten")
	}
	now += time.Hour
	if r.dropDue(); r.some.Load() || !r.due(id) {
		t.Error("checks still look for refusals of an hour ago")
	}
}

// told are rows of which only ages and one row are known.
type told struct {
	Rows
	row  *crdt.Row
	ages []gossip.RegionAge
}

func (r told) View(_ crdt.RowID, f func(*crdt.Row)) bool {
	if r.row != nil {
		f(r.row)
	}
	return r.row != nil
}
func (r told) Heard() []gossip.RegionAge { return r.ages }

func TestRightsWait(t *testing.T) {
	l := newTestLedger(t, 1)
	q := quotaTake("k", 1)
	q.Total = 100
	spent := crdt.NewRow(RowName(q.Row))
	spent.Merge(crdt.Entry{Replica: crdt.Replica{Region: "us", Nonce: 1}, Version: 1, Taken: 50})
	age := func(d time.Duration, known bool) []gossip.RegionAge {
		return []gossip.RegionAge{{Region: "eu", Known: true}, {Region: "us", Age: d, Known: known}}
	}
	for name, in := range map[string]struct {
		row  *crdt.Row
		ages []gossip.RegionAge
		want time.Duration
	}{
		"in touch":       {crdt.NewRow(RowName(q.Row)), age(time.Second, true), giftWait},
		"cut for long":   {crdt.NewRow(RowName(q.Row)), age(time.Hour, true), time.Hour},
		"never heard":    {crdt.NewRow(RowName(q.Row)), age(0, false), CutOff},
		"has none left":  {spent, age(time.Second, true), giftWait},
		"no row is held": {nil, age(time.Second, true), giftWait},
	} {
		l.rows = told{row: in.row, ages: in.ages}
		if got := l.RightsWait(q); got != in.want {
			t.Errorf("%s: %v, want %v", name, got, in.want)
		}
	}
}
