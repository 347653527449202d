package quotas

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"weir/crdt"
	"weir/limiter/quota"
)

// world is regions that took of one quota, each under the laws and with what it
// had heard, and what all of it is known here.
type world struct {
	limit, overshoot int64
	bounded          bool
	cut              []bool
	rows             []quota.Row
	shares           []int64
}

func name(i int) string { return fmt.Sprintf("r%d", i) }

func drawWorld(t *rapid.T) *world {
	w := &world{limit: rapid.Int64Range(1, 60).Draw(t, "limit"), bounded: rapid.Bool().Draw(t, "bounded")}
	if w.bounded {
		w.overshoot = rapid.Int64Range(0, w.limit).Draw(t, "overshoot")
	}
	n := rapid.IntRange(1, 4).Draw(t, "regions")
	var weights []crdt.Weight
	for i := range n {
		weights = append(weights, crdt.Weight{Region: name(i), Weight: 1 + uint32(rapid.IntRange(0, 3).Draw(t, "weight"))})
		w.cut = append(w.cut, rapid.Bool().Draw(t, "cut"))
	}
	split, err := crdt.NewSplit(1, weights)
	if err != nil {
		t.Fatal(err)
	}
	w.rows, w.shares = make([]quota.Row, n), make([]int64, n)
	for i := range n {
		w.shares[i] = split.Share(name(i), w.limit+w.overshoot)
	}
	for range rapid.IntRange(0, 30).Draw(t, "steps") {
		i, j := rapid.IntRange(0, n-1).Draw(t, "region"), rapid.IntRange(0, n-1).Draw(t, "other")
		units, alone := rapid.Int64Range(0, 20).Draw(t, "units"), rapid.Bool().Draw(t, "alone")
		switch b := w.bounds(i, alone); rapid.SampledFrom([]string{"take", "take", "give", "refund"}).Draw(t, "step") {
		case "take":
			if w.rows[i].Sums().Try(b, units) == quota.Fits {
				w.rows[i].Charge(b, units)
			}
		case "give":
			if w.bounded && i != j {
				w.rows[i].Give(b, name(j), w.rows[i].Own.Gifts.To(name(j))+units, 0)
			}
		case "refund":
			w.rows[i].Return(units)
		}
	}
	return w
}

func (w *world) value() (sum int64) {
	for i := range w.rows {
		sum += w.rows[i].Own.Net()
	}
	return sum
}

// bounds are a region's that has heard all, or nothing of what others took.
func (w *world) bounds(i int, alone bool) quota.Bounds {
	b := quota.Bounds{Allotted: quota.Unbounded, Ceiling: w.limit - (w.value() - w.rows[i].Own.Net())}
	if alone {
		b.Ceiling = w.limit
	}
	if w.bounded {
		b.Allotted = w.shares[i]
		for j := range w.rows {
			b.Allotted += w.rows[j].Own.Gifts.To(name(i))
		}
	}
	return b
}

func (w *world) exposure() int64 {
	sides := make([]side, len(w.rows))
	value := w.value()
	for i := range w.rows {
		rights := w.rows[i].Sums().Rights(w.bounds(i, false))
		sides[i] = sideOf(w.limit, value, w.rows[i].Own.Net(), rights, w.bounded, w.cut[i])
	}
	allowance := int64(unbounded)
	if w.bounded {
		allowance = w.overshoot
	}
	return exposure(w.limit, value, allowance, sides)
}

// spendAll has every region let through all that the laws allow, unit by unit,
// while none hears of another: those cut off heard of nobody.
func (w *world) spendAll() (over int64) {
	bounds := make([]quota.Bounds, len(w.rows))
	for i := range bounds {
		bounds[i] = w.bounds(i, w.cut[i])
	}
	for i := range w.rows {
		for w.rows[i].Sums().Try(bounds[i], 1) == quota.Fits {
			w.rows[i].Charge(bounds[i], 1)
		}
	}
	return max(0, w.value()-w.limit)
}

// TestExposureIsTheWorstCase: it is what happens when everything that can go
// wrong does, and never above the overshoot that the rule allows.
func TestExposureIsTheWorstCase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		got := w.exposure()
		if w.bounded && got > w.overshoot {
			t.Fatalf("exposure %d above overshoot %d: %+v", got, w.overshoot, w)
		}
		if worst := w.spendAll(); got != worst {
			t.Fatalf("exposure %d, at worst %d are over: %+v", got, worst, w)
		}
	})
}

// TestExposureInNumbers: the formula where all have heard the same, by hand.
func TestExposureInNumbers(t *testing.T) {
	const most = quota.MaxUnits
	for _, in := range []struct {
		limit, value, allowance int64
		rights                  []int64
		want                    int64
	}{
		{100, 0, 1, []int64{34, 34, 33}, 1},
		{100, 60, 1, []int64{41, 0, 0}, 0},  // one region holds all: it hears itself
		{100, 60, 1, []int64{21, 20, 0}, 1}, // 41 rights, 40 left
		{100, 60, 0, []int64{20, 20, 0}, 0},
		{100, 90, 50, []int64{20, 20, 20}, 20}, // each believes in 10
		{100, 100, 50, []int64{20, 20, 10}, 0}, // all have heard that nothing is left
		{100, 104, 50, []int64{20, 20, 6}, 4},
		{100, 60, 1, []int64{45, -4, 0}, 0},
		{100, 60, 1, []int64{45, 5, -9}, 1}, // a gift not heard of yet counts twice: cut
		{100, 40, unbounded, []int64{most, most, most}, 120},
		{100, 100, unbounded, []int64{most, most}, 0},
		{100, 107, unbounded, []int64{most, most}, 7},
		{most, 0, unbounded, []int64{most, most, most}, 2 * most},
	} {
		sides := make([]side, len(in.rights))
		for i, rights := range in.rights {
			sides[i] = sideOf(in.limit, in.value, 0, rights, true, false)
		}
		if got := exposure(in.limit, in.value, in.allowance, sides); got != in.want {
			t.Errorf("%+v: got %d", in, got)
		}
	}
}
