package sim

import (
	"testing"
	"time"
)

// costSeeds is how many schedules each line has.
const costSeeds = 20

// TestWhatEachFaultCosts runs each line of the table of faults: what has no cost
// in the table is excused nothing, whatever is checked.
func TestWhatEachFaultCosts(t *testing.T) {
	for _, line := range []struct {
		name    string
		faults  Faults
		tune    func(*plan)
		excuses string
	}{
		{"partition, any shape, any length", Network, nil, excusesNothing},
		{"node killed, region with Redis", Crashes | Network, nil, excusesNothing},
		{"node killed, its disk lost or old", Crashes | Disks | Network, nil, excusesNothing},
		{"node gone for good", Burials | Network, nil, excusesNothing},
		{"node killed, embedded store", Crashes | Disks | Network, embedded, excusesLost},
		{"Redis restarted empty", Wipes | Network | Crashes, nil, excusesLost},
		{"Redis behind after a fail-over", SetBacks | Network | Crashes, nil, excusesLost},
		{"two Redis masters", SplitBrains | Network, nil, excusesLost},
		{"Redis and every node of a region lost together", Wipes | Crashes | Disks, nil, excusesLost},
		{"Redis unreachable, local", Outages | Network, func(p *plan) { p.Leases = true }, excusesNothing},
		{"Redis unreachable, open", Outages | Network, func(p *plan) { p.OnFailure = failOpen }, excusesOpen},
		{"Redis unreachable, closed", Outages | Network, func(p *plan) { p.OnFailure = failClosed }, excusesNothing},
		{"Redis slow", Outages, func(p *plan) { p.Slow = 60 * time.Millisecond }, excusesNothing},
		{"clock skew", 0, func(p *plan) {
			p.Skew, p.Rules[0].period, p.Rules[0].name = 5, 5, "short"
		}, excusesNothing},
		{"SIGSTOP", Pauses | Network, func(p *plan) { p.Leases = true }, excusesNothing},
		{"mass restart", Crashes, func(p *plan) { p.FaultGap = time.Second }, excusesNothing},
	} {
		t.Run(line.name, func(t *testing.T) {
			t.Parallel()
			var total Table
			for s := uint64(1); s <= costSeeds; s++ {
				tune := func(p *plan) {
					threeRegions(p)
					p.Faults, p.OnFailure, p.Embedded = line.faults, failLocal, make([]bool, 3)
					if line.tune != nil {
						line.tune(p)
					}
				}
				r, err := Run(Options{Seed: s, Epsilon: -1, Tune: tune})
				if err != nil {
					t.Fatalf("seed %d: %v", s, err)
				}
				if r.Excuses != line.excuses || (r.Excuses == excusesNothing && r.MostOverBound > 0) {
					t.Fatalf("seed %d: over the bound by %d, excused %s", s, r.MostOverBound, r.Excuses)
				}
				total.Add(&r)
			}
			t.Logf("%s", total.String())
		})
	}
}

// embedded is regions of one node whose store lives in it.
func embedded(p *plan) {
	p.Nodes, p.Embedded = []int{1, 1, 1}, []bool{true, true, true}
}

// TestAProcessWakesUpLongAfter: a process that stood still for minutes, in which
// its store was wiped, periods ended and rows were dropped, lets nothing through
// on what it knew.
func TestAProcessWakesUpLongAfter(t *testing.T) {
	for s := uint64(1); s <= 5; s++ {
		tune := func(p *plan) {
			whole(0, 300)(p)
			p.Leases, p.Faults, p.Run, p.Calm, p.Busy = true, Wipes|Pauses, 150*time.Second, 5*time.Second, 150*time.Millisecond
			p.Rules = append(p.Rules, quotaRule{name: "short", key: "k1", period: 20, limit: 200, total: 200})
			p.Script = func(w *world) {
				r := w.regions[0]
				w.at(w.between(2*time.Second, 4*time.Second), "script", func() {
					r.nodes[0].pause()
					w.at(w.between(0, time.Second), "script", func() { w.wipe(r) })
					w.at(130*time.Second, "script", r.nodes[0].wake)
				})
			}
		}
		if _, err := Run(Options{Seed: s, Tune: tune}); err != nil {
			t.Fatalf("seed %d: %v", s, err)
		}
	}
}
