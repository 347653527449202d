package giving

import (
	"testing"
	"time"
)

// TestACutRegionSpendsItsRights: a region is cut off for ten minutes. Each side
// serves what it holds to the last unit; afterwards rights flow again.
func TestACutRegionSpendsItsRights(t *testing.T) {
	const from, to = 30 * time.Second, 630 * time.Second
	for _, over := range []int64{0, 1000} {
		var f figures
		for seed := range uint64(seeds) {
			w := newWorld(seed, 100_000, over, 1, 1, 1)
			w.cut = func(a, b int, now time.Duration) bool { return (a == 0) != (b == 0) && now >= from && now < to }
			w.traffic(0, 0, time.Hour, 100, 1, 1)
			w.traffic(1, 0, to, 50, 1, 1)
			w.run(to - time.Second)
			alone := w.sites[0]
			if rights := alone.rights(); rights != 0 {
				t.Errorf("the region cut off has %d units left", rights)
			}
			before := alone.allowed
			w.run(to + 2*time.Second)
			if since := alone.allowed - before; since < 50 {
				t.Errorf("%d calls allowed within 2 s of the healing", since)
			}
			w.run(20 * time.Minute)
			bounded(t, w)
			f.add(w)
		}
		t.Logf("ε = %4d: %s", over, &f)
		if f.stranded > 0 {
			t.Errorf("%d units stranded", f.stranded)
		}
	}
}

// TestBothSidesOfACutSpend: the side of two regions too spends all it holds,
// though the quota as it knows it is far from used up.
func TestBothSidesOfACutSpend(t *testing.T) {
	var f figures
	for seed := range uint64(seeds) {
		w := newWorld(seed, 100_000, 0, 1, 1, 1)
		w.cut = func(a, b int, now time.Duration) bool { return (a == 0) != (b == 0) && now >= time.Second }
		w.traffic(1, 0, time.Hour, 300, 1, 1)
		w.run(5 * time.Minute)
		bounded(t, w)
		if rights := w.sites[1].rights() + w.sites[2].rights(); rights != 0 {
			t.Errorf("%d units left", rights)
		}
		f.add(w)
	}
	t.Logf("%s", &f)
	if f.gifts > 300 {
		t.Errorf("%d gifts", f.gifts)
	}
}

// TestAOneWayCut: a region that spends 1 000 units a second is heard by the
// others and hears nothing. What they give it waits behind the cut, so they stop
// once it should be enough, and their own calls go on. Afterwards all is used.
func TestAOneWayCut(t *testing.T) {
	const from, to = 20 * time.Second, 120 * time.Second
	var f figures
	for seed := range uint64(seeds) {
		w := newWorld(seed, 100_000, 0, 1, 1, 1)
		w.cut = func(_, b int, now time.Duration) bool { return b == 0 && now >= from && now < to }
		w.traffic(0, 0, time.Hour, 1000, 1, 1)
		w.traffic(1, 0, time.Hour, 50, 1, 1)
		w.run(to)
		if others := w.sites[1].denied + w.sites[2].denied; others > 0 {
			t.Errorf("%d calls of the other regions were denied", others)
		}
		if alone := w.sites[0].rights(); alone != 0 {
			t.Errorf("the region that hears nothing has %d units left", alone)
		}
		before := w.sites[0].allowed
		w.run(to + 2*time.Second)
		if since := w.sites[0].allowed - before; since < 1000 {
			t.Errorf("%d calls allowed within 2 s of the healing", since)
		}
		w.run(5 * time.Minute)
		bounded(t, w)
		f.add(w)
	}
	t.Logf("%s", &f)
	if f.stranded > 0 || f.gifts > 300 {
		t.Errorf("%s", &f)
	}
}

// TestAFlappingLink: the region with all traffic is in touch for 1.5 s of every
// 5 s.
func TestAFlappingLink(t *testing.T) {
	var f figures
	for seed := range uint64(seeds) {
		w := newWorld(seed, 100_000, 0, 1, 1, 1)
		w.cut = func(a, b int, now time.Duration) bool {
			return (a == 0) != (b == 0) && now%(5*time.Second) >= 1500*time.Millisecond
		}
		w.traffic(0, 0, time.Hour, 1000, 1, 1)
		w.run(4 * time.Minute)
		bounded(t, w)
		f.add(w)
	}
	t.Logf("%s", &f)
	if f.stranded > 0 || f.gifts > 300 {
		t.Errorf("%s", &f)
	}
}
