package giving

import (
	"fmt"
	"testing"
	"time"
)

const seeds = 3

// figures are the worst of several runs.
type figures struct {
	stranded, early   int64 // units left when all was still; units left when something was first denied
	over              int64 // units over Q
	denied            float64
	gifts             int
	starved, helpless time.Duration
}

func (f *figures) add(w *world) {
	calls, denied, starved, helpless := w.sums()
	f.stranded = max(f.stranded, w.limit-w.allowed)
	if w.firstDenied >= 0 {
		f.early = max(f.early, w.limit-w.firstDenied)
	}
	f.over = max(f.over, w.allowed-w.limit)
	f.denied = max(f.denied, float64(denied)/float64(calls))
	f.gifts = max(f.gifts, w.gifts)
	f.starved, f.helpless = max(f.starved, starved), max(f.helpless, helpless)
}

func (f *figures) String() string {
	return fmt.Sprintf("stranded %3d, first denied at %5d left, over %4d, denied %.3f %%, gifts %4d, starved %.2f s, helpless %.2f s",
		f.stranded, f.early, f.over, 100*f.denied, f.gifts, f.starved.Seconds(), f.helpless.Seconds())
}

func bounded(t *testing.T, w *world) {
	t.Helper()
	if w.allowed > w.total {
		t.Fatalf("allowed %d of %d", w.allowed, w.total)
	}
	for _, s := range w.sites {
		if s.rights() < 0 {
			t.Fatalf("%s has %d rights", s.name, s.rights())
		}
	}
}

func equal(n int) (weights []uint32) {
	for range n {
		weights = append(weights, 1)
	}
	return weights
}

// mixes are the part of the traffic of the first regions.
var mixes = map[string][]float64{
	"one region": {1},
	"80/10/10":   {0.8, 0.1, 0.1},
	"even":       {0.34, 0.33, 0.33},
}

// TestAQuotaIsUsedUp: Q = 100 000 at 1 000 and 5 000 units a second, from 2 to
// 10 regions. Without overshoot nothing is stranded, with 1 % nothing is denied
// before all of Q is allowed.
func TestAQuotaIsUsedUp(t *testing.T) {
	for _, regions := range []int{2, 3, 5, 10} {
		for _, name := range []string{"one region", "80/10/10", "even"} {
			for _, perSecond := range []float64{1000, 5000} {
				for _, over := range []int64{0, 1000} {
					var f figures
					for seed := range uint64(seeds) {
						w := newWorld(seed, 100_000, over, equal(regions)...)
						end := time.Duration(100_000/perSecond*1.03)*time.Second + 5*time.Second
						for i, part := range mixes[name] {
							w.traffic(i%regions, 0, end, perSecond*part, 1, 1)
						}
						w.run(end)
						bounded(t, w)
						f.add(w)
					}
					t.Logf("%2d regions, %10s, %.0f/s, ε = %4d: %s", regions, name, perSecond, over, &f)
					if f.stranded > 10 {
						t.Errorf("%d units stranded", f.stranded)
					}
					if over > 0 && f.early > 0 {
						t.Errorf("denied with %d units left", f.early)
					}
					if f.gifts > 40*regions {
						t.Errorf("%d gifts", f.gifts)
					}
				}
			}
		}
	}
}
