package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/crdt"
)

// Faults says which kinds of faults a schedule has.
type Faults uint16

// The kinds. What breaks beside the network is drawn for each schedule, so that
// most have few kinds, and many none that the bound yields to.
const (
	Network     Faults = 1 << iota // loss, delay, repetition, partitions
	Crashes                        // processes die and come back
	Disks                          // and their disks are lost or set back
	Wipes                          // a store loses everything
	SetBacks                       // a store is set back to an older copy
	SplitBrains                    // an old master goes on beside the new one
	Outages                        // a store is not reached, or slow
	Pauses                         // processes stand still, and wake up
	Burials                        // nodes go for good
	allFaults   = 1<<iota - 1
)

var faultNames = [...]string{"network", "crashes", "disks", "wipes", "set back", "split brain", "outages", "pauses", "burials"}

func (f Faults) String() string {
	var names []string
	for i, name := range faultNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func (f Faults) has(kind Faults) bool { return f&kind != 0 }

// losesStores says whether a region may forget what it had let through.
func (p *plan) losesStores() bool {
	return p.Faults.has(Wipes|SetBacks|SplitBrains) || (p.Faults.has(Crashes|Disks|Burials) && slices.Contains(p.Embedded, true))
}

// excuses says what a run may be excused.
func (p *plan) excuses() string {
	switch {
	case p.OnFailure == failOpen:
		return excusesOpen
	case p.losesStores():
		return excusesLost
	}
	return excusesNothing
}

// What the bound yields to.
const (
	excusesNothing = "nothing"
	excusesLost    = "lost stores"
	excusesOpen    = "open"
)

// onFailure is what a rule says of its quota while the store is away.
type onFailure uint8

const (
	failLocal onFailure = iota
	failOpen
	failClosed
)

// quotaRule is one rule with a quota, and the key it is asked for.
type quotaRule struct {
	name, key string
	limit     int64 // Q, units
	total     int64 // ⌊Q + ε⌋, units
	// period is its length in seconds.
	period int64
}

func (r *quotaRule) row(unix int64, generation uint32) crdt.RowName {
	start := unix / r.period * r.period
	return crdt.RowName{Rule: r.name, Key: r.key, Start: start, End: start + r.period, Generation: generation}
}

// plan is what a schedule is made of. It is drawn from the seed.
type plan struct {
	Regions   []string
	Nodes     []int  // of each region
	Embedded  []bool // whether a region's store lives in its only node
	Weights   []uint32
	Next      []uint32 // the weights of the second split; nil: there is none
	NextAt    time.Duration
	Faults    Faults
	Epsilon   float64
	Rules     []quotaRule
	OnFailure onFailure
	Leases    bool
	Refunds   bool
	Operators bool // grants and resets
	Skew      int64
	Busy      time.Duration // the longest gap between two checks
	Run       time.Duration // until faults end
	Calm      time.Duration // of traffic without faults, after that
	FaultGap  time.Duration // the longest
	Hot       int           // the region with most traffic; −1: none
	Sticky    bool          // most clients of a region ask one node
	Slow      time.Duration // how much slower than 2 ms stores answer, at most
	// Script, if set, breaks things in place of chance.
	Script func(*world)
}

var regionNames = []string{"ap", "eu", "sa", "us"}

// Epsilons are the permitted overshoots schedules have.
var Epsilons = []float64{0, 0.01, 0.2}

func (w *world) drawPlan() plan {
	p := plan{Epsilon: Epsilons[w.rand.IntN(len(Epsilons))], Hot: -1}
	if w.opt.Epsilon >= 0 {
		p.Epsilon = w.opt.Epsilon
	}
	w.drawRegions(&p)
	w.drawRules(&p)
	p.Faults = w.drawFaults()
	p.OnFailure = onFailure(w.wheel(8, 1, 1))
	p.Leases, p.Refunds, p.Operators = w.chance(0.5), w.chance(0.5), w.chance(0.3)
	if w.chance(0.5) {
		p.Skew = 1 + w.rand.Int64N(5)
	}
	p.Busy = w.between(4*time.Millisecond, 40*time.Millisecond)
	p.Run = w.between(5*time.Second, 15*time.Second)
	p.FaultGap = w.between(300*time.Millisecond, 2*time.Second)
	if w.chance(0.7) {
		p.Calm = w.between(4*time.Second, 8*time.Second)
	}
	p.Sticky = w.chance(0.3)
	if w.chance(0.3) {
		p.Slow = w.between(0, 30*time.Millisecond)
	}
	if w.chance(0.6) {
		p.Hot = w.rand.IntN(len(p.Regions))
	}
	if w.opt.Tune != nil {
		w.opt.Tune(&p)
	}
	return p
}

func (w *world) drawRegions(p *plan) {
	p.Regions = slices.Clone(regionNames[:2+w.wheel(3, 5, 2)])
	for range p.Regions {
		p.Nodes = append(p.Nodes, 1+w.wheel(3, 5, 2))
		weight := uint32(1)
		if w.chance(0.3) {
			weight = uint32(w.rand.IntN(4))
		}
		p.Weights = append(p.Weights, weight)
	}
	for _, nodes := range p.Nodes {
		p.Embedded = append(p.Embedded, nodes == 1 && w.chance(0.3))
	}
	p.Weights[0] = max(p.Weights[0], 1)
	if w.chance(0.25) {
		// A region that was added lives on gifts until the next split applies.
		p.Next = slices.Clone(p.Weights)
		added := 1 + w.rand.IntN(len(p.Regions)-1)
		p.Weights[added] = 0
		p.Next[added] = 1 + w.rand.Uint32N(3)
		p.NextAt = w.between(time.Second, 6*time.Second)
	}
}

func (w *world) drawRules(p *plan) {
	for i := range 1 + w.rand.IntN(3) {
		r := quotaRule{name: "daily", key: fmt.Sprint("k", i), period: 86400}
		r.limit = []int64{20, 100, 300, 1000}[w.rand.IntN(4)] + w.rand.Int64N(7)
		if w.chance(0.3) || (i == 0 && p.Next != nil) {
			r.name, r.period = "short", 5+w.rand.Int64N(10)
			r.limit = min(r.limit, 120)
		}
		r.total = r.limit + int64(float64(r.limit)*p.Epsilon)
		p.Rules = append(p.Rules, r)
	}
}

func (w *world) drawFaults() Faults {
	switch w.wheel(1, 3, 6) {
	case 0:
		return 0
	case 1: // none that the bound yields to
		return Faults(w.rand.IntN(allFaults+1)) &^ (Wipes | SetBacks | SplitBrains)
	}
	return Faults(w.rand.IntN(allFaults + 1))
}
