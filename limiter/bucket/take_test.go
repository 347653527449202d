package bucket

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// start is where tests' clocks begin: not on a tick of any size.
const start = int64(1_790_000_000_123_457)

func mustRate(t interface {
	Helper()
	Fatal(...any)
}, count int64, window time.Duration, burst int64) Rate {
	t.Helper()
	r, err := NewRate(count, window, burst)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rates are common ones and those that are awkward to count.
var rates = []struct {
	count  int64
	window time.Duration
	burst  int64
	tick   time.Duration
}{
	{100, time.Second, 500, time.Microsecond},
	{1, time.Second, 1, time.Microsecond},
	{7, time.Second, 7, time.Microsecond},
	{7, time.Second, 1000, time.Microsecond},
	{3, time.Millisecond, 3, time.Microsecond},
	{1_000_003, time.Millisecond, 1, time.Microsecond},
	{5, 10 * time.Second, 5, time.Microsecond},
	{1000, time.Minute, 1000, time.Microsecond},
	{999_983, 24 * time.Hour, 10, time.Microsecond},
	{999_983, 24 * time.Hour, 999_983, time.Millisecond},
	{1_000_000, 24 * time.Hour, 1_000_000, time.Microsecond},
	{1, 7 * 24 * time.Hour, 1000, time.Microsecond},
	{1_000_003, 7 * 24 * time.Hour, 100_000_000, time.Second},
	{1_000_003, 7 * 24 * time.Hour, 20_000_000, time.Second},
}

func drawRate(t *rapid.T) Rate {
	if rapid.Bool().Draw(t, "listed") {
		in := rapid.SampledFrom(rates).Draw(t, "rate")
		return mustRate(t, in.count, in.window, in.burst)
	}
	for {
		window := rapid.SampledFrom([]time.Duration{time.Millisecond, 7 * time.Millisecond, time.Second, time.Minute, 24 * time.Hour, 7 * 24 * time.Hour}).Draw(t, "window")
		r, err := NewRate(rapid.Int64Range(1, 2_000_000).Draw(t, "count"), window, rapid.Int64Range(1, 2_000_000).Draw(t, "burst"))
		if err == nil {
			return r
		}
	}
}

func TestNewRatePicksTheFinestTick(t *testing.T) {
	for _, in := range rates {
		r := mustRate(t, in.count, in.window, in.burst)
		if got := time.Duration(r.Tick) * time.Microsecond; got != in.tick {
			t.Errorf("%d per %v, burst %d: a tick is %v, want %v", in.count, in.window, in.burst, got, in.tick)
		}
		// Refill/Token tokens a tick is Count/Window.
		flow := big.NewRat(r.Refill, r.Token)
		want := new(big.Rat).Mul(big.NewRat(in.count, in.window.Microseconds()), big.NewRat(r.Tick, 1))
		if flow.Cmp(want) != 0 {
			t.Errorf("%d per %v: %v tokens a tick, want %v", in.count, in.window, flow, want)
		}
	}
}

func TestNewRateRefuses(t *testing.T) {
	for name, in := range map[string]struct {
		count  int64
		window time.Duration
		burst  int64
	}{
		"no count":               {0, time.Second, 1},
		"no burst":               {1, time.Second, 0},
		"short window":           {1, 999 * time.Microsecond, 1},
		"more than 2^53 units":   {1, time.Second, 1 << 53},
		"a refill past 2^51":     {1<<52 + 1, time.Millisecond, 1},
		"two hundred years":      {1, 7 * 24 * time.Hour, 53 * 200},
		"fine ticks, inexact":    {1_000_003, 24*time.Hour + time.Microsecond, 1 << 40},
		"two centuries by month": {3, 30 * 24 * time.Hour, 3 * 12 * 210},
	} {
		if r, err := NewRate(in.count, in.window, in.burst); err == nil {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

// TestNeverMoreThanBurstAndFlow draws random traffic and compares, for every
// interval between two takes, what passed with burst + rate × length, in
// rational numbers.
func TestNeverMoreThanBurstAndFlow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRate(t)
		now := start + rapid.Int64Range(0, 5_000_000).Draw(t, "phase")
		type taken struct{ at, cost int64 }
		var all []taken
		var s State
		for range rapid.IntRange(1, 60).Draw(t, "takes") {
			now += drawStep(t, r, s, now)
			cost := rapid.OneOf(rapid.Just(int64(1)), rapid.Just(r.Burst), rapid.Int64Range(1, r.Burst), rapid.Just(max(1, r.Remaining(s, now)))).Draw(t, "cost")
			next, fits := r.Take(s, now, cost)
			if next.Spare < 0 || next.Spare >= r.Refill {
				t.Fatalf("spare %d of %+v", next.Spare, r)
			}
			if fits {
				all = append(all, taken{now, cost})
			}
			s = next
		}
		for i := range all {
			sum := int64(0)
			for _, last := range all[i:] {
				sum += last.cost
				most := new(big.Rat).Mul(big.NewRat(r.Count, r.Window.Microseconds()), big.NewRat(last.at-all[i].at, 1))
				most.Add(most, big.NewRat(r.Burst, 1))
				if big.NewRat(sum, 1).Cmp(most) > 0 {
					t.Fatalf("%d passed in %d µs, at most %s may", sum, last.at-all[i].at, most.FloatString(6))
				}
			}
		}
	})
}

// drawStep draws how long to wait, often to just around where things change.
func drawStep(t *rapid.T, r Rate, s State, now int64) int64 {
	wait := max(0, r.WaitUs(s, now, rapid.Int64Range(1, r.Burst).Draw(t, "for")))
	full := r.FullAt(s, now) - now
	return max(0, rapid.OneOf(
		rapid.Just(int64(0)), rapid.Int64Range(0, 3), rapid.Int64Range(0, 3*r.Tick),
		rapid.Just(wait), rapid.Just(wait-1), rapid.Just(full), rapid.Just(full-1), rapid.Just(full-r.Tick/2),
		rapid.Int64Range(0, max(1, full)),
	).Draw(t, "step"))
}

func TestWaitIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRate(t)
		now := start + rapid.Int64Range(0, 5_000_000).Draw(t, "phase")
		var s State
		for range rapid.IntRange(0, 20).Draw(t, "takes") {
			now += drawStep(t, r, s, now)
			s, _ = r.Take(s, now, rapid.Int64Range(1, r.Burst).Draw(t, "cost"))
		}
		cost := rapid.Int64Range(1, r.Burst).Draw(t, "cost")
		wait := r.WaitUs(s, now, cost)
		if _, fits := r.Take(s, now+wait, cost); !fits {
			t.Fatalf("waited %d µs and still does not fit", wait)
		}
		if wait > 0 {
			if _, fits := r.Take(s, now+wait-1, cost); fits {
				t.Fatalf("fits a microsecond before the %d named", wait)
			}
		}
		if (wait == 0) != (r.Remaining(s, now) >= cost) {
			t.Fatalf("wait %d for %d of %d remaining", wait, cost, r.Remaining(s, now))
		}
	})
}

// TestAllThatRemainsCanBeTaken: Remaining is what a take gets, and no more.
func TestAllThatRemainsCanBeTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRate(t)
		now := start
		var s State
		for range rapid.IntRange(0, 10).Draw(t, "takes") {
			now += drawStep(t, r, s, now)
			s, _ = r.Take(s, now, rapid.Int64Range(1, r.Burst).Draw(t, "cost"))
		}
		left := r.Remaining(s, now)
		if _, fits := r.Take(s, now, left+1); fits {
			t.Fatalf("took %d of %d", left+1, left)
		}
		next, fits := r.Take(s, now, left)
		if !fits || left > 0 && r.Remaining(next, now) != 0 {
			t.Fatalf("took %d of %d: fits %v, %d remain", left, left, fits, r.Remaining(next, now))
		}
	})
}

func TestFullBucketGivesItsBurstOneByOne(t *testing.T) {
	for _, in := range rates {
		r := mustRate(t, in.count, in.window, in.burst)
		var s State
		for i := range min(in.burst, 10_000) {
			var fits bool
			if s, fits = r.Take(s, start, 1); !fits {
				t.Fatalf("%d per %v: number %d of %d did not fit", in.count, in.window, i+1, in.burst)
			}
		}
		if got, want := r.Remaining(s, start), in.burst-min(in.burst, 10_000); got != want {
			t.Errorf("%d per %v: %d remain, want %d", in.count, in.window, got, want)
		}
		full := r.FullAt(s, start)
		if r.Remaining(s, full) != in.burst || in.burst > 1 && r.Remaining(s, full-r.Tick) == in.burst {
			t.Errorf("%d per %v: not full exactly at %d", in.count, in.window, full)
		}
	}
}

// TestNothingIsLostByAsking: tokens flow at the full rate however often
// somebody asks in vain or looks.
func TestNothingIsLostByAsking(t *testing.T) {
	r := mustRate(t, 7, time.Second, 7)
	var s State
	passed := int64(0)
	for now := start; now < start+100_000_000; now += 997 {
		before := s
		var fits bool
		if s, fits = r.Take(s, now, 0); !fits || s != before {
			t.Fatalf("a look changed %+v to %+v", before, s)
		}
		if s, fits = r.Take(s, now, 1); fits {
			passed++
		} else if s != before {
			t.Fatalf("a denial changed %+v to %+v", before, s)
		}
	}
	// 7 at once, 700 that flow; the last may still wait for its turn.
	if passed < 706 || passed > 707 {
		t.Errorf("%d passed in 100 s", passed)
	}
}

func TestCostAboveBurstNeverFits(t *testing.T) {
	r := mustRate(t, 100, time.Second, 500)
	for _, cost := range []int64{501, 1 << 40, 1<<63 - 1} {
		if s, fits := r.Take(State{}, start, cost); fits || s != (State{}) {
			t.Errorf("cost %d: fits %v, state %+v", cost, fits, s)
		}
		if got := r.WaitUs(State{}, start, cost); got != -1 {
			t.Errorf("cost %d: wait %d", cost, got)
		}
	}
	if _, fits := r.Take(State{}, start, -1); fits {
		t.Error("a negative cost fits")
	}
}

func TestClockBackward(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRate(t)
		now := start
		var s State
		for range rapid.IntRange(1, 10).Draw(t, "takes") {
			now += drawStep(t, r, s, now)
			s, _ = r.Take(s, now, rapid.Int64Range(1, r.Burst).Draw(t, "cost"))
		}
		left := r.Remaining(s, now)
		back := now - rapid.Int64Range(0, 3_600_000_000).Draw(t, "step")
		if got := r.Remaining(s, back); got > left {
			t.Fatalf("%d remain after the step, %d before", got, left)
		}
		// A denied take is enough to notice the step; from then on a bucket fills
		// in the time an empty one takes, and a tick.
		s, _ = r.Take(s, back, r.Burst)
		later := back + (r.FillTicks()+1)*r.Tick
		if _, fits := r.Take(s, later, r.Burst); !fits {
			t.Fatalf("locked out: %d of %d remain %d µs after the step", r.Remaining(s, later), r.Burst, later-back)
		}
		// And back again: at most one bucket more.
		if got := r.Remaining(s, now+1<<40); got > r.Burst {
			t.Fatalf("%d remain after a jump, burst %d", got, r.Burst)
		}
	})
}

func TestRateChangeKeepsBounds(t *testing.T) {
	slow, fast := mustRate(t, 1, time.Hour, 10), mustRate(t, 1_000_003, time.Millisecond, 5)
	s, _ := slow.Take(State{}, start, 10)
	if got := fast.Remaining(s, start); got != 0 {
		t.Errorf("%d remain of a slow empty bucket", got)
	}
	s, _ = fast.Take(State{}, start, 3)
	s, fits := slow.Take(State{FullAtUs: s.FullAtUs, Spare: slow.Refill}, start, 1)
	if !fits || s.Spare >= slow.Refill {
		t.Errorf("a strange spare was kept: %+v, fits %v", s, fits)
	}
}

func BenchmarkTake(b *testing.B) {
	r := mustRate(b, 1_000_000, time.Second, 1_000_000)
	var s State
	now := start
	for b.Loop() {
		now++
		s, _ = r.Take(s, now, 1)
	}
}
