package sim

import (
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"weir/crdt"
)

// baseUnix is the time of day at virtual instant 0.
const baseUnix = 1_790_000_000

const (
	// healBound is how long after the last fault nodes may differ.
	healBound = 5 * time.Second
	// burialBound is how long after that it may take to notice that a node has
	// gone for good, and to ask for what went with it.
	burialBound = 12 * time.Second
	// holeBound is how much longer it may take where a link stays broken: until
	// the sender knows, or a node asks others for what a silent one would tell.
	holeBound = 30 * time.Second
	// unrest is how much longer gifts and what is settled with stores may go on
	// when nobody asks for anything.
	unrest = 10 * time.Second
)

// Options say what to run.
type Options struct {
	Seed uint64
	// Epsilon is the permitted overshoot, as a share of the quota; below 0: drawn.
	Epsilon float64
	// Trace, if set, gets a line for each event.
	Trace io.Writer
	// Mutant, if set, breaks a rule on purpose.
	Mutant *Mutant
	// Tune, if set, changes what was drawn.
	Tune func(*plan)
	// after, if set, looks at the world as it ended.
	after func(*world)
}

// Violation is a broken promise: which checker saw it, and what.
type Violation struct {
	Checker, What string
}

func (v *Violation) Error() string { return v.Checker + ": " + v.What }

// world is one run.
type world struct {
	opt    Options
	mutant Mutant // the zero one breaks nothing
	plan   plan
	rand   *rand.Rand
	now    time.Duration
	queue  events
	seq    int
	report Report

	regions []*region
	nodes   []*node
	net     network
	truth   truth
	nonces  uint64

	calming   bool          // no fault begins any more
	healing   bool          // and nothing is counted
	wellSince time.Duration // all has been well since; 0: it is not
	violated  *Violation
}

// region is a failure domain: nodes, and the store they share.
type region struct {
	name     string
	index    int
	embedded bool // its store lives in its only node
	nodes    []*node
	// favourite is the node that most clients ask at present.
	favourite *node
	store     *redis
	// old is a master that goes on beside the store for the nodes that have not
	// heard of it; nil: there is none.
	old *redis
	// kept is an older copy that the store may be set back to; lost, one that was
	// set back from, which may return.
	kept, lost *redis
}

// Run runs one schedule. The error is a *Violation.
func Run(opt Options) (Report, error) {
	w := &world{opt: opt, rand: rand.New(rand.NewPCG(opt.Seed, 0x51ed))}
	if opt.Mutant != nil {
		w.mutant = *opt.Mutant
	}
	w.plan = w.drawPlan()
	w.truth = newTruth(w)
	w.build()
	w.runPlan()
	if opt.after != nil {
		opt.after(w)
	}
	if w.violated != nil {
		return w.report, w.violated
	}
	return w.report, nil
}

func (w *world) build() {
	for i, name := range w.plan.Regions {
		r := &region{name: name, index: i, embedded: w.plan.Embedded[i] && w.plan.Nodes[i] == 1}
		r.store = newRedis(w, r)
		w.regions = append(w.regions, r)
		for k := range w.plan.Nodes[i] {
			n := newNode(w, fmt.Sprintf("%s-%d", name, k+1), r)
			r.nodes = append(r.nodes, n)
			w.nodes = append(w.nodes, n)
		}
	}
	w.net = newNetwork(w)
	for _, n := range w.nodes {
		w.start(n)
		w.every(100*time.Millisecond, n.name+" tick", n.running(n.tick))
		w.every(time.Second, n.name+" save", n.running(n.save))
		w.every(time.Second, n.name+" members", n.running(n.membership))
		w.every(200*time.Millisecond, n.name+" store", n.running(n.lookAfterStore))
	}
	w.at(w.checkGap(), "check", w.check)
	switch {
	case w.plan.Script != nil:
		w.plan.Script(w)
	case w.plan.Faults != 0:
		w.at(w.faultGap(), "fault", w.fault)
	default:
		w.wellSince = 1
	}
	if w.plan.Operators {
		w.at(w.between(time.Second, 3*time.Second), "operator", w.operate)
	}
	if w.plan.Next != nil {
		w.at(w.plan.NextAt, "next split", w.nextSplit)
	}
}

// runPlan runs the schedule to its end: faults, calm, healing.
func (w *world) runPlan() {
	end := w.plan.Run
	if w.plan.Faults.has(Burials) && w.chance(0.3) {
		w.at(w.between(0, end), "hole", w.dig)
	}
	if w.plan.Calm > 0 {
		// What breaks while all is well is repaired by nothing that other losses
		// set off.
		w.at(end, "calm", w.calm)
		calm := w.plan.Calm
		if w.plan.Faults.has(Burials) {
			if w.chance(0.5) {
				w.at(end+w.between(calm/4, calm), "last loss", w.buryOne)
			}
			if w.chance(0.4) {
				w.at(end+w.between(calm/2, calm), "last hole", w.dig)
			}
		}
		end += calm
	}
	w.at(end, "heal", w.heal)
	w.runUntil(end)
	w.settle()
}

// settle runs on until all nodes agree, or the bound has passed.
func (w *world) settle() {
	healed, bound := w.now, healBound
	if len(w.living()) < len(w.nodes) {
		bound += burialBound
	}
	if len(w.net.holes) > 0 {
		bound += holeBound
	}
	// What a node settles with its store meanwhile is to be heard of, too.
	for quiet := time.Duration(0); w.violated == nil && quiet < 3*time.Second; quiet += 100 * time.Millisecond {
		if !w.agreed() {
			quiet = 0
			w.report.Healed = w.now - max(healed, w.truth.counted)
		}
		if since := w.now - max(healed, w.truth.counted); quiet == 0 && since > bound {
			w.violate("converge", "%v after healing, or the last change: %s", bound, w.disagreement())
			return
		}
		if w.now-healed > bound+unrest {
			w.violate("rest", "entries still change %v after the last check: %s", w.now-healed, w.disagreement())
			return
		}
		w.runUntil(w.now + 100*time.Millisecond)
	}
	if w.violated == nil {
		w.checkEnd()
	}
}

// note adds a line to the trace.
func (w *world) note(format string, args ...any) {
	if w.opt.Trace != nil {
		fmt.Fprintf(w.opt.Trace, format+"\n", args...)
	}
}

func (w *world) violate(checker, format string, args ...any) {
	if w.violated == nil {
		w.violated = &Violation{checker, fmt.Sprintf("at %v: ", w.now) + fmt.Sprintf(format, args...)}
		w.note("VIOLATED %v", w.violated)
	}
}

// nonce is a number that was never drawn before and that nobody foresees.
func (w *world) nonce() uint64 { return w.rand.Uint64() | 1 }

// id is a request's name.
func (w *world) id() (id [16]byte) {
	w.nonces++
	for i := range 8 {
		id[i] = byte(w.nonces >> (8 * i))
	}
	return id
}

func (w *world) faultGap() time.Duration { return w.between(50*time.Millisecond, w.plan.FaultGap) }

func (w *world) checkGap() time.Duration { return w.between(time.Millisecond, w.plan.Busy) }

func (w *world) split(version uint64, weights []uint32) crdt.Split {
	var list []crdt.Weight
	for i, name := range w.plan.Regions {
		list = append(list, crdt.Weight{Region: name, Weight: weights[i]})
	}
	s, err := crdt.NewSplit(version, list)
	if err != nil {
		panic(err)
	}
	return s
}
