package giving

import (
	"testing"
	"time"
)

// TestDemandMoves: within a minute all traffic moves from one region to
// another, and back.
func TestDemandMoves(t *testing.T) {
	for _, perSecond := range []float64{200, 1000} {
		for _, over := range []int64{0, 1000} {
			for _, loss := range []float64{0, 0.2} {
				var f figures
				for seed := range uint64(seeds) {
					w := newWorld(seed, 100_000, over, 1, 1, 1)
					w.loss = loss
					at, end := 10*time.Second, time.Duration(100_000/perSecond*1.03)*time.Second
					w.traffic(0, 0, at, perSecond, 1, 1)
					for place := 0; at < end; place++ {
						for range 6 { // ten seconds each
							part := float64(at%time.Minute) / float64(time.Minute)
							w.traffic(place%3, at, at+10*time.Second, perSecond*(1-part), 1, 1)
							w.traffic((place+1)%3, at, at+10*time.Second, perSecond*part, 1, 1)
							at += 10 * time.Second
						}
					}
					w.run(end)
					bounded(t, w)
					f.add(w)
				}
				t.Logf("%.0f/s, ε = %4d, loss %.0f %%: %s", perSecond, over, 100*loss, &f)
				if f.denied > 0.01*(1+10*loss) || over > 0 && f.denied > 0 {
					t.Errorf("denied %.2f %% of calls for rights", 100*f.denied)
				}
			}
		}
	}
}

// TestASuddenMove: all traffic leaves one region for another within an instant,
// when a third of the quota is left in all.
func TestASuddenMove(t *testing.T) {
	for _, perSecond := range []float64{1000, 5000} {
		var f figures
		for seed := range uint64(seeds) {
			w := newWorld(seed, 100_000, 0, 1, 1, 1)
			move := time.Duration(67_000 / perSecond * float64(time.Second))
			w.traffic(0, 0, move, perSecond, 1, 1)
			w.traffic(1, move, time.Hour, perSecond, 1, 1)
			w.run(2 * move)
			bounded(t, w)
			f.add(w)
		}
		t.Logf("%.0f/s: %s", perSecond, &f)
		if f.stranded > 10 || f.denied > 0.05 {
			t.Errorf("%s", &f)
		}
	}
}
