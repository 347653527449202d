package sim

import (
	"flag"
	"testing"
	"time"
)

var held = flag.Uint64("held", 40, "how many schedules of three regions to run for each ε")

// TestHeldForEachEpsilon: over three regions and every kind of fault, all regions
// together never let through more than ⌊Q + ε⌋ and what the faults excuse.
func TestHeldForEachEpsilon(t *testing.T) {
	var total Table
	for _, epsilon := range Epsilons {
		run := func(s uint64) (Report, error) { return Run(Options{Seed: s, Epsilon: epsilon, Tune: threeRegions}) }
		each(*held, run, func(s uint64, r Report, err error) {
			if err != nil {
				t.Errorf("ε = %v, seed %d: %v\nreplay: go test ./test/sim -run TestOneHeld -seed %d -epsilon %v -events events.txt", epsilon, s, err, s, epsilon)
				return
			}
			total.Add(&r)
		})
	}
	t.Logf("%s", total.String())
}

var epsilonOf = flag.Float64("epsilon", 0, "the overshoot of the schedule that TestOneHeld runs again")

// TestOneHeld runs a schedule of TestHeldForEachEpsilon again.
func TestOneHeld(t *testing.T) {
	if _, err := Run(Options{Seed: max(1, *seed), Epsilon: *epsilonOf, Tune: threeRegions, Trace: eventsFile(t)}); err != nil {
		t.Fatal(err)
	}
}

func threeRegions(p *plan) {
	for len(p.Regions) < 3 {
		p.Regions = append(p.Regions, "za")
		p.Nodes, p.Weights, p.Embedded = append(p.Nodes, 2), append(p.Weights, 1), append(p.Embedded, false)
		if p.Next != nil {
			p.Next = append(p.Next, 1)
		}
	}
	p.Regions, p.Nodes, p.Weights, p.Embedded = p.Regions[:3], p.Nodes[:3], p.Weights[:3], p.Embedded[:3]
	if p.Next != nil {
		p.Next = p.Next[:3]
		p.Next[1]++
	}
	p.Hot = min(p.Hot, 2)
}

// whole is three regions of two nodes and one quota that lasts.
func whole(epsilon float64, limit int64) func(*plan) {
	return func(p *plan) {
		tuned(0, limit)(p)
		p.Regions, p.Nodes, p.Weights = regionNames[:3], []int{2, 2, 2}, []uint32{1, 1, 1}
		p.Embedded, p.Epsilon = make([]bool, 3), epsilon
		p.Rules[0].total += int64(float64(limit) * epsilon)
	}
}

// TestACutOffRegionServesItsRights: a region that is cut off for ten minutes lets
// through its rights and its reserve to the last unit, and then says that it has
// none.
func TestACutOffRegionServesItsRights(t *testing.T) {
	const cut = 10 * time.Minute
	for _, epsilon := range Epsilons {
		var left, over int64
		var denied int
		tune := func(p *plan) {
			whole(epsilon, 1200)(p)
			p.Faults, p.Run, p.Calm, p.Busy = Network, cut+5*time.Second, 5*time.Second, 600*time.Millisecond
			p.Script = func(w *world) {
				r := w.regions[0]
				w.net.calm()
				w.at(4*time.Second, "cut", func() { w.cut("region "+r.name, func(n *node) bool { return n.region == r }, true) })
				w.at(cut+4*time.Second, "look", func() {
					rt := w.truth.list[0]
					left, denied = w.truth.left(r, rt), w.report.NoRights
					over = rt.regions[0].allowed + rt.regions[1].allowed + rt.regions[2].allowed - rt.rule.total
				})
			}
		}
		report, err := Run(Options{Seed: 1, Tune: tune})
		t.Logf("ε = %v: %d units left there, %d checks denied for want of rights; all together %+d to ⌊Q + ε⌋; %d units allowed", epsilon, left, denied, over, report.Allowed)
		if err != nil {
			t.Errorf("ε = %v: %v", epsilon, err)
		}
		if left != 0 || denied == 0 || over > 0 {
			t.Errorf("ε = %v: %d units left, %d denied for want of rights, %+d to the bound", epsilon, left, denied, over)
		}
	}
}

// TestNothingIsStranded: while all is well, no more than two units are never let
// through of a quota without overshoot, and none of one with 1 %: nothing is
// denied before all of it is taken.
func TestNothingIsStranded(t *testing.T) {
	for _, in := range []struct {
		epsilon float64
		most    int64
	}{{0, maxStranded}, {0.01, 0}, {0.2, 0}} {
		worst := int64(0)
		for s := uint64(1); s <= 20; s++ {
			var left int64
			tune := func(p *plan) { whole(in.epsilon, 1000)(p); p.Run, p.Calm = 20*time.Second, 5*time.Second }
			_, err := Run(Options{Seed: s, Tune: tune, after: func(w *world) {
				for _, rt := range w.truth.list {
					left = rt.rule.limit
					for i := range rt.regions {
						left -= rt.regions[i].allowed
					}
				}
			}})
			if err != nil {
				t.Fatalf("ε = %v, seed %d: %v", in.epsilon, s, err)
			}
			worst = max(worst, left)
		}
		t.Logf("ε = %v: at most %d of 1000 units were never let through", in.epsilon, worst)
		if worst > in.most {
			t.Errorf("ε = %v: %d units stranded, want at most %d", in.epsilon, worst, in.most)
		}
	}
}
