package sim

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"weir/crdt"
	wirev1 "weir/proto/wire/v1"
)

// Each mutant is a rule broken on purpose: a simpler one that somebody might
// build, or a mistake somebody made. The simulator must see it, and say what is
// wrong.
var mutants = []struct {
	Mutant
	tune     func(*plan)
	checkers []string // any of which may be the first to see it
}{
	{Mutant{Name: "deduct-after-giving", DeductLate: true}, tuned(0, 60), bounds},
	{Mutant{Name: "scalar-floor", ScalarFloor: true}, alone(scripted(Network|Wipes|Pauses, 250, halves)), bounds},
	{Mutant{Name: "replica-written-in-two-reigns", ReuseReplica: true}, tuned(Wipes, 60), []string{"writers"}},
	{Mutant{Name: "share-to-each-replica", ShareEach: true}, tuned(Wipes, 60), bounds},
	{Mutant{Name: "reign-adopted-without-exchange", Unexchanged: true}, alone(scripted(Wipes|Pauses, 60, wipeNearTheEnd)), bounds},
	{Mutant{Name: "late-reply-believed", BelieveLate: true}, scripted(Wipes|Pauses, 60, catchInFlight), bounds},
	{Mutant{Name: "lease-returned-in-next-reign", LeaseAnyReign: true}, leasing(harsh(Wipes|Outages, 1000)), append(bounds, "ledger")},
	{Mutant{Name: "split-from-local-configuration", LocalSplit: true}, splitting, []string{"split"}},
	{Mutant{Name: "gift-sent-before-durable", TellEarly: true}, tuned(Disks, 60), []string{"durable"}},
	{Mutant{Name: "receipt-honoured-in-another-reign", ReceiptAnyReign: true}, refunding(harsh(Wipes, 60)), append(bounds, "ledger")},
	{Mutant{Name: "taken-and-returned-in-separate-deltas", Hear: apart}, refunding(tuned(Network, 60)), copies},
	{Mutant{Name: "claim-skipped", ClaimSkipped: true}, alone(scripted(Network|Wipes|Pauses, 150, wipeTwice)), bounds},
	{Mutant{Name: "period-not-checked", PeriodUnchecked: true}, ending(tuned(0, 60)), []string{"periods"}},

	{Mutant{Name: "merge by sum", Hear: sum}, tuned(Network, 60), copies},
	{Mutant{Name: "scalar maximum of P per region", Record: scalar}, tuned(Network, 60), copies},
	{Mutant{Name: "last message wins", Hear: older}, tuned(Network, 60), copies},
	{Mutant{Name: "requests for what is missing are dropped", Frame: dropRequest}, tuned(Network|Crashes, 60), []string{"converge", "sync"}},
	{Mutant{Name: "the younger age is believed", Frame: forgeStamps}, harsh(Network, 60), []string{"ages"}},
}

var copies = []string{"invented", "grow"}

var bounds = []string{"rights", "bound"}

// mutantTries is how many schedules a mutant has to be seen in.
const mutantTries = 400

func TestMutantsAreCaught(t *testing.T) {
	for i := range mutants {
		m := &mutants[i]
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			for s := uint64(1); s <= mutantTries; s++ {
				_, err := Run(Options{Seed: s, Epsilon: -1, Mutant: &m.Mutant, Tune: m.tune})
				var v *Violation
				if !errors.As(err, &v) {
					continue
				}
				if !slices.Contains(m.checkers, v.Checker) {
					t.Fatalf("seed %d: seen by %q, want one of %q: %v", s, v.Checker, m.checkers, v)
				}
				t.Logf("seed %d, %v: %.300s", s, time.Since(began), v.Error())
				return
			}
			t.Fatalf("not caught by %d schedules", mutantTries)
		})
	}
}

// TestSchedulesOfMutants runs the same schedules without the mutants.
func TestSchedulesOfMutants(t *testing.T) {
	for i := range mutants {
		m := &mutants[i]
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			for s := uint64(1); s <= 15; s++ {
				if _, err := Run(Options{Seed: s, Epsilon: -1, Tune: m.tune}); err != nil {
					t.Fatalf("seed %d: %v", s, err)
				}
			}
		})
	}
}

// tuned is two regions, one quota without overshoot, much traffic and few kinds
// of faults.
func tuned(f Faults, limit int64) func(*plan) {
	return func(p *plan) {
		p.Regions, p.Nodes, p.Weights, p.Next = regionNames[:2], []int{2, 1}, []uint32{1, 1}, nil
		p.Embedded = make([]bool, 2)
		p.Epsilon, p.Faults, p.OnFailure, p.Hot = 0, f, failLocal, 0
		p.Leases, p.Refunds, p.Operators, p.Skew = false, false, false, 0
		p.Rules = []quotaRule{{name: "daily", key: "k0", period: 86400, limit: limit, total: limit}}
		p.Busy, p.Run, p.Calm, p.Sticky = 10*time.Millisecond, 10*time.Second, 0, false
	}
}

// harsh is tuned with a region of three nodes and a fault every moment.
func harsh(f Faults, limit int64) func(*plan) {
	return func(p *plan) {
		tuned(f, limit)(p)
		p.Nodes = []int{3, 1}
		p.FaultGap, p.Busy = 400*time.Millisecond, 40*time.Millisecond
	}
}

func leasing(tune func(*plan)) func(*plan) {
	return func(p *plan) { tune(p); p.Leases, p.Busy = true, 10*time.Millisecond }
}

// scripted is harsh with a script in place of chance.
func scripted(f Faults, limit int64, script func(*world)) func(*plan) {
	return func(p *plan) {
		harsh(f, limit)(p)
		p.Script, p.Sticky = script, true
	}
}

func ending(tune func(*plan)) func(*plan) {
	return func(p *plan) { tune(p); p.Rules[0].name, p.Rules[0].period, p.Skew = "short", 5, 5 }
}

// alone leaves all rights to one region.
func alone(tune func(*plan)) func(*plan) {
	return func(p *plan) { tune(p); p.Weights = []uint32{1, 0} }
}

// when does something as soon as something is so.
func (w *world) when(is func() bool, do func()) {
	var look func()
	look = func() {
		if is() {
			do()
		} else if !w.calming {
			w.at(time.Millisecond, "look", look)
		}
	}
	look()
}

// catchInFlight stops a process while the answer to a check is on its way to it,
// and wipes the store.
func catchInFlight(w *world) {
	r := w.regions[0]
	var caught *node
	w.at(w.between(1500*time.Millisecond, 2500*time.Millisecond), "script", func() {
		w.when(func() bool {
			for _, n := range r.nodes {
				if n.reign != 0 && len(n.flights) > 0 {
					if c := n.flights[len(n.flights)-1]; c.flight != nil && !c.ended && c.status == statusAllowed {
						caught = n
						return true
					}
				}
			}
			return false
		}, func() {
			caught.pause()
			w.at(3*time.Second, "wake", caught.wake)
			w.wipe(r)
		})
	})
}

// wipeNearTheEnd wipes a store when little is left: what has not been told yet
// makes the difference.
func wipeNearTheEnd(w *world) {
	r := w.regions[0]
	w.when(func() bool { return len(w.truth.list) > 0 && w.truth.left(r, w.truth.list[0]) <= 5 }, func() { w.wipe(r) })
}

// wipeTwice wipes a store while one of three nodes does not answer, and again as
// soon as another reign has let something through, of which the third node does
// not hear.
func wipeTwice(w *world) {
	r := w.regions[0]
	w.at(w.between(1500*time.Millisecond, 2500*time.Millisecond), "script", func() {
		r.nodes[2].pause()
		w.wipe(r)
		w.when(func() bool { return r.nodes[0].exchanging != nil && r.nodes[1].exchanging != nil }, func() {
			w.at(150*time.Millisecond, "script", func() {
				w.cut("the nodes of "+r.name, func(n *node) bool { return n == r.nodes[1] }, true)
			})
		})
		w.when(func() bool {
			for _, row := range r.store.rows {
				if row.row.Own.Taken > 0 {
					return true
				}
			}
			return false
		}, func() { w.wipe(r) })
	})
}

// halves cuts two nodes from each other and lets one of them spend in one reign,
// the other in the next.
func halves(w *world) {
	r := w.regions[0]
	w.at(1400*time.Millisecond, "script", func() {
		w.cut("the nodes of "+r.name, func(n *node) bool { return n == r.nodes[1] }, true)
		w.regions[1].nodes[0].pause()
		r.nodes[2].pause()
		r.favourite = r.nodes[0]
	})
	w.at(w.between(5*time.Second, 6*time.Second), "script", func() { w.wipe(r); r.favourite = r.nodes[1] })
	w.at(w.between(8*time.Second, 9*time.Second), "script", func() { w.wipe(r) })
}

func refunding(tune func(*plan)) func(*plan) {
	return func(p *plan) { tune(p); p.Refunds = true }
}

func splitting(p *plan) {
	tuned(Network, 60)(p)
	p.Rules[0].name, p.Rules[0].period = "short", 5
	p.Next, p.Weights, p.NextAt = []uint32{1, 1}, []uint32{1, 0}, 3*time.Second
}

func apart(k *replicaTruth, got crdt.Entry) crdt.Entry {
	if got.Returned > 0 {
		got.Taken = k.entries[0].Taken // what is given back was heard, what was taken not yet
		got.Version++
	}
	return got
}

// sum adds what comes to what is there.
func sum(k *replicaTruth, got crdt.Entry) crdt.Entry {
	if got.Version > 1 {
		got.Taken += k.entries[0].Taken
		got.Version += 1 << 20
	}
	return got
}

// scalar makes a region's count one number that merges by maximum.
func scalar(e crdt.Entry) crdt.Entry {
	e.Replica.Nonce, e.Version = 0, uint64(max(e.Taken, 1))
	return e
}

// older takes what comes late for newer.
func older(k *replicaTruth, got crdt.Entry) crdt.Entry {
	if got.Version > 2 {
		late := k.entries[got.Version-3]
		late.Version = got.Version + 1
		return late
	}
	return got
}

func dropRequest(f *wirev1.Frame) { f.Request = nil }

var forged struct {
	sync.Mutex
	stamp uint64
}

// forgeStamps makes every age that of a new state, as if there were no stamps.
func forgeStamps(f *wirev1.Frame) {
	forged.Lock()
	defer forged.Unlock()
	for _, h := range f.Heard {
		forged.stamp++
		h.Stamp = 1<<50 + forged.stamp
	}
}
