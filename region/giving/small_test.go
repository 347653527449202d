package giving

import (
	"testing"
	"time"
)

// served fails unless refusals for rights were short, and no more was left.
// Larger costs wait longer: a gift may meet a smaller call first.
func served(t *testing.T, f *figures, stranded int64) {
	t.Helper()
	if f.starved > 3*time.Second {
		t.Errorf("refused for %s while others had to spare", f.starved)
	}
	if f.helpless > 4*time.Second {
		t.Errorf("refused for %s while the regions held enough", f.helpless)
	}
	if f.stranded > stranded {
		t.Errorf("%d units stranded", f.stranded)
	}
}

// TestSmallQuotas: quotas of 1 to 50 units, called in one region or in three.
func TestSmallQuotas(t *testing.T) {
	for _, perSecond := range []float64{0.5, 3, 20} {
		for _, regions := range []int{1, 3} {
			var f figures
			for limit := int64(1); limit <= 50; limit++ {
				w := newWorld(uint64(limit), limit, 0, 1, 1, 1)
				w.retries = 40
				for i := range regions {
					w.traffic(i, 0, time.Hour, perSecond/float64(regions), 1, 1)
				}
				w.run(time.Duration(float64(limit)/perSecond*2)*time.Second + 30*time.Second)
				bounded(t, w)
				f.add(w)
			}
			t.Logf("%.1f/s in %d regions: %s", perSecond, regions, &f)
			served(t, &f, 0)
		}
	}
}

// TestMixedCosts: costs of 1 to 20, weights 1/2/1, and a region added with
// share 0.
func TestMixedCosts(t *testing.T) {
	splits := map[string][]uint32{"even": {1, 1, 1}, "1/2/1": {1, 2, 1}, "with share 0": {1, 1, 1, 0}}
	for name, weights := range splits {
		for _, limit := range []int64{100, 1000, 20_000} {
			for _, loss := range []float64{0, 0.2} {
				var f figures
				for seed := range uint64(2 * seeds) {
					w := newWorld(seed, limit, 0, weights...)
					w.retries = 40
					w.loss = loss
					for i := range weights {
						w.traffic(i, 0, time.Hour, float64(limit)/400/float64(i+1), 1, 20)
					}
					w.traffic(len(weights)-1, 0, time.Hour, 5, 1, 1)
					w.run(3 * time.Minute)
					bounded(t, w)
					f.add(w)
				}
				t.Logf("%12s, Q = %5d, loss %.0f %%: %s", name, limit, 100*loss, &f)
				served(t, &f, 0)
			}
		}
	}
}

// TestALargeCost: 100 units are asked for when 120 are left in three regions.
func TestALargeCost(t *testing.T) {
	for _, cost := range []int64{41, 60, 100, 110, 120} {
		for seed := range uint64(seeds) {
			w := newWorld(seed, 120, 0, 1, 1, 1)
			w.retries = 40
			w.traffic(0, 0, time.Hour, 1, cost, cost)
			w.run(10 * time.Second)
			bounded(t, w)
			if w.allowed < cost {
				t.Errorf("a cost of %d was never served; %d gifts", cost, w.gifts)
			}
		}
	}
}

// TestLargeCostsInAllRegions: each region's calls cost about what it holds.
func TestLargeCostsInAllRegions(t *testing.T) {
	for _, regions := range []int{2, 3, 5} {
		var f figures
		for seed := range uint64(4 * seeds) {
			w := newWorld(seed, 300, 0, equal(regions)...)
			w.retries = 40
			for i := range regions {
				w.traffic(i, 0, time.Hour, 2, 30, 100)
			}
			w.run(time.Minute)
			bounded(t, w)
			f.add(w)
		}
		t.Logf("%d regions: %s", regions, &f)
		served(t, &f, 29) // no call costs less than 30
	}
}
