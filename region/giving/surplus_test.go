package giving

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/crdt"
)

func policy(t testing.TB) *HalfSurplus {
	t.Helper()
	p, err := NewHalfSurplus(DefaultReservePercent, 4)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// view is of regions in touch with these rights, of which r00 looks.
func view(rights ...int64) *View {
	v := &View{}
	for i, units := range rights {
		v.Regions = append(v.Regions, Region{Name: fmt.Sprintf("r%02d", i), Known: true, Rights: units})
		v.Left += units
	}
	v.Limit = v.Left
	return v
}

func (v *View) wants(region int, units int64) *View {
	v.Wants = append(v.Wants, Want{Region: region, Nonce: 7, Version: 1, Units: units})
	return v
}

func TestArguments(t *testing.T) {
	for _, in := range []struct{ percent, rows int }{{-1, 1}, {101, 1}, {20, 0}} {
		if _, err := NewHalfSurplus(in.percent, in.rows); err == nil {
			t.Errorf("%+v was taken", in)
		}
	}
}

// TestGiftsAreWhatTheRegionHas: whatever the view says, also what cannot be, a
// gift goes to another region in touch, raises what it was given, and is no more
// than the own rights beyond what is kept.
func TestGiftsAreWhatTheRegionHas(t *testing.T) {
	units := rapid.OneOf(rapid.Int64Range(-5, 60), rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, crdt.MaxUnits}))
	rapid.Check(t, func(t *rapid.T) {
		p, _ := NewHalfSurplus(rapid.IntRange(0, 100).Draw(t, "reserve"), 2)
		now := time.Duration(0)
		v := &View{}
		for range rapid.IntRange(1, 6).Draw(t, "looks") {
			now += time.Duration(rapid.Int64Range(-1e9, 3e9).Draw(t, "later"))
			*v = View{ID: crdt.RowID{byte(rapid.IntRange(0, 3).Draw(t, "row"))}, Left: units.Draw(t, "left"), Regions: v.Regions[:0]}
			for i := range rapid.IntRange(1, 5).Draw(t, "regions") {
				v.Regions = append(v.Regions, Region{Name: fmt.Sprint("r", i), Known: rapid.Bool().Draw(t, "known"),
					Age:    time.Duration(rapid.Int64Range(-1e9, 4e9).Draw(t, "age")),
					Rights: units.Draw(t, "rights"), Taken: units.Draw(t, "taken"), Given: units.Draw(t, "given")})
			}
			v.Own = rapid.IntRange(0, len(v.Regions)-1).Draw(t, "own")
			for range rapid.IntRange(0, 20).Draw(t, "wants") {
				v.Wants = append(v.Wants, Want{Region: rapid.IntRange(0, len(v.Regions)-1).Draw(t, "whose"),
					Nonce: rapid.Uint64Range(0, 20).Draw(t, "nonce"), Version: rapid.Uint64Range(1, 5).Draw(t, "version"), Units: units.Draw(t, "units")})
			}
			g, ok := p.Gift(now, v)
			if !ok {
				continue
			}
			to := v.index(g.To)
			moved := g.Target - max(0, v.Regions[to].Given)
			if to == v.Own || !v.Regions[to].Known || v.Regions[to].Age >= inTouch || v.Left <= 0 {
				t.Fatalf("%+v of %+v", g, v)
			}
			if moved <= 0 || g.Keep < 0 || g.Target > crdt.MaxUnits || moved > v.Regions[v.Own].Rights-g.Keep {
				t.Fatalf("%+v moves %d of %+v", g, moved, v)
			}
		}
	})
}

// hot lets a region be seen to take that many units a second for two seconds,
// and returns the instant.
func hot(p *HalfSurplus, v *View, region int, perSecond int64) (now time.Duration) {
	for range 20 {
		p.Gift(now, v)
		now += tick
		v.Regions[region].Taken += perSecond / 10
	}
	return now
}

// TestHalfTheSurplus: 30 000 units each, one region runs out in four seconds.
// 20 % of 20 000 stay, and half of the rest goes.
func TestHalfTheSurplus(t *testing.T) {
	p, v := policy(t), view(30_000, 30_000)
	now := hot(p, v, 1, 100)
	v.Regions[1].Rights, v.Left = 300, 30_300
	g, ok := p.Gift(now, v)
	if reserve := int64(3025); !ok || g.To != "r01" || g.Keep < reserve-5 || g.Keep > reserve+5 || g.Target != (30_000-g.Keep+1)/2 {
		t.Errorf("%+v, %v", g, ok)
	}
	v.Regions[1].Rights = 600 // six seconds
	if g, ok := p.Gift(now, v); ok {
		t.Errorf("gave %+v to a region that has enough", g)
	}
}

// TestWhatIsInTouchIsGivenTo: a region that is silent or unknown gets nothing,
// short as it is.
func TestWhatIsInTouchIsGivenTo(t *testing.T) {
	for _, in := range []struct {
		age   time.Duration
		known bool
		want  bool
	}{{0, true, true}, {inTouch - 1, true, true}, {inTouch, true, false}, {0, false, false}} {
		for _, wants := range []int64{0, 5} {
			p, v := policy(t), view(1000, 1000)
			now := hot(p, v, 1, 1000)
			v.Regions[1].Rights, v.Regions[1].Age, v.Regions[1].Known = 0, in.age, in.known
			if wants > 0 {
				v.wants(1, wants)
			}
			if _, ok := p.Gift(now, v); ok != in.want {
				t.Errorf("age %s, known %v, wants %d: given %v", in.age, in.known, wants, ok)
			}
		}
	}
}

// TestRefusedCosts: who gives what to r01, which refused a cost.
func TestRefusedCosts(t *testing.T) {
	for _, in := range []struct {
		name   string
		rights []int64
		left   int64 // 0 is all rights
		wants  [][2]int64
		want   int64
	}{
		{"the last unit", []int64{1, 0}, 0, [][2]int64{{1, 1}}, 1},
		{"who has most gives", []int64{2, 0, 3}, 0, [][2]int64{{1, 1}}, 0},
		{"the first of equals", []int64{1, 0, 1}, 0, [][2]int64{{1, 1}}, 1},
		{"up to the even part", []int64{10, 0}, 0, [][2]int64{{1, 1}}, 5},
		{"all surplus", []int64{60, 10}, 0, [][2]int64{{1, 60}}, 50},
		{"several regions", []int64{40, 40, 40}, 0, [][2]int64{{1, 100}}, 32},
		{"out of the reserves", []int64{40, 40, 40}, 0, [][2]int64{{1, 120}}, 40},
		{"more than is left, said now: all of it", []int64{4, 0}, 0, [][2]int64{{1, 10}}, 4},
		{"left, but out of reach", []int64{4, 0}, 20, [][2]int64{{1, 10}}, 4},
		{"enough already", []int64{40, 40}, 0, [][2]int64{{1, 40}}, 0},
		{"own want first: lacks less", []int64{8, 7}, 0, [][2]int64{{0, 9}, {1, 9}}, 0},
		{"own want last: lacks more", []int64{7, 8}, 0, [][2]int64{{0, 9}, {1, 9}}, 1},
		{"held for the own want", []int64{8, 0}, 0, [][2]int64{{0, 8}, {1, 2}}, 0},
		{"beyond the own want", []int64{9, 0}, 0, [][2]int64{{0, 8}, {1, 1}}, 1},
		{"one unit, as it may do", []int64{9, 0}, 0, [][2]int64{{0, 8}, {1, 2}}, 1},
		{"both want all: in order of name", []int64{5, 5}, 0, [][2]int64{{0, 20}, {1, 20}}, 0},
		{"no more than it lacks, in want oneself", []int64{40, 8}, 0, [][2]int64{{0, 45}, {1, 9}}, 1},
		{"nothing is left", []int64{5, 0}, -1, [][2]int64{{1, 1}}, 0},
	} {
		p, v := policy(t), view(in.rights...)
		if in.left != 0 {
			v.Left = in.left
		}
		for _, w := range in.wants {
			v.wants(int(w[0]), w[1])
		}
		g, ok := p.Gift(0, v)
		if ok && g.To != "r01" {
			t.Errorf("%s: given to %s", in.name, g.To)
		}
		if g.Target != in.want {
			t.Errorf("%s: gave %d, want %d", in.name, g.Target, in.want)
		}
	}
}

// TestWhoCannotBeServedIsPassedOver: r01 lacks least, but of what it wants too
// much lies behind a cut.
func TestWhoCannotBeServedIsPassedOver(t *testing.T) {
	p, v := policy(t), view(9, 8, 0).wants(1, 18).wants(2, 11)
	v.Left = 60
	if g, ok := p.Gift(0, v); !ok || g.To != "r02" || g.Target != 8 {
		t.Errorf("%+v, %v; want 8 for r02", g, ok)
	}
}

// TestProviding: what r00 gives ahead of need to r01, both with a demand of
// 1 000 a second.
func TestProviding(t *testing.T) {
	for _, in := range []struct {
		name       string
		own, other int64
		wants      int64 // of r00
		want       bool
	}{
		{"it has half as long", 2000, 1000, 0, true},
		{"it has as long", 2000, 2000, 0, false},
		{"the difference is noise", 1300, 1250, 0, false},
		{"a little, and not urgent", 2900, 2600, 0, false},
		{"a little, and urgent", 1700, 1300, 0, true},
		{"both have enough", 20_000, 7000, 0, false},
		{"in want oneself", 2000, 1000, 2500, false},
	} {
		p, v := policy(t), view(10_000, 10_000)
		now := time.Duration(0)
		for range 40 {
			p.Gift(now, v)
			now += tick
			v.Regions[0].Taken += 100
			v.Regions[1].Taken += 100
		}
		v.Regions[0].Rights, v.Regions[1].Rights = in.own, in.other
		if in.wants > 0 {
			v.wants(0, in.wants)
		}
		if g, ok := p.Gift(now, v); ok != in.want {
			t.Errorf("%s: %+v, %v", in.name, g, ok)
		}
	}
}
