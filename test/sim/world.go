package sim

import (
	"container/heap"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"time"

	"weir/crdt"
	wirev1 "weir/proto/wire/v1"
)

const (
	baseUnix = 1_790_000_000
	// healBound is how long after the last fault nodes may differ.
	healBound = 5 * time.Second
	// burialBound is how long after that it may take to notice that a node has
	// gone for good, and to ask for what went with it.
	burialBound = 12 * time.Second
	// holeBound is how much longer it may take where a link stays broken: until
	// the sender knows, or a node asks others for what a silent one would tell.
	holeBound = 30 * time.Second
)

// Weights of schedules.
const (
	twoRegionsChance = 0.25 // that no third region passes news on
	singleNodeChance = 0.25 // that a region has one node, not two
	holeChance       = 0.4  // that a link breaks for good
)

var regionNames = []string{"ap", "eu", "us"}

// Options say what to run.
type Options struct {
	Seed uint64
	// Trace, if set, gets a line for each event.
	Trace io.Writer
	// Mutant, if set, breaks the protocol on purpose.
	Mutant *Mutant
}

// Mutant is a wrong replication, made around the core.
type Mutant struct {
	Name string
	// Record rewrites what a node counts before its core hears it.
	Record func(crdt.Entry) crdt.Entry
	// Frame rewrites a frame before a node's core hears it; local returns what
	// the node knows of a replica.
	Frame func(f *wirev1.Frame, local func(*wirev1.Row, crdt.Replica) crdt.Entry)
	// ReuseReplica lets a wiped store go on under its old nonce.
	ReuseReplica bool
	// OwnNumbers says that the mutant's entries are not those counted, so that
	// only sums can be compared.
	OwnNumbers bool
}

// Report is what a run came to.
type Report struct {
	Trace     uint64 // hash over all events
	Events    int
	Healed    time.Duration // from the healing until all nodes agreed
	Forgotten int           // replicas of which the last counts were lost with all who knew
	Counted   int64         // units taken, by the ledger
}

// Violation is a broken promise: which checker saw it, and what.
type Violation struct {
	Checker, What string
}

func (v *Violation) Error() string { return v.Checker + ": " + v.What }

// world is one run.
type world struct {
	opt    Options
	rand   *rand.Rand
	now    time.Duration
	queue  events
	seq    int
	trace  hash.Hash64
	report Report

	regions []string

	nodes  []*node
	stores map[string]*store
	net    network
	ledger ledger
	rows   []crdt.RowName

	calming  bool // no fault begins any more
	healing  bool // and nothing is counted
	violated *Violation
}

// Run runs one schedule. The error is a *Violation.
func Run(opt Options) (Report, error) {
	w := &world{
		opt:    opt,
		rand:   rand.New(rand.NewPCG(opt.Seed, 0x51ed)),
		trace:  fnv.New64a(),
		stores: map[string]*store{},
		ledger: newLedger(),
	}
	w.build()
	end := w.between(5*time.Second, 20*time.Second)
	if w.chance(holeChance / 2) {
		w.at(w.between(0, end), "hole", w.dig)
	}
	if w.chance(0.5) {
		// What breaks while all is well is repaired by nothing that other losses
		// set off.
		w.at(end, "calm", w.calm)
		calm := w.between(4*time.Second, 8*time.Second)
		if w.chance(0.5) {
			w.at(end+w.between(calm/4, calm), "last loss", w.buryOne)
		}
		if w.chance(holeChance) {
			w.at(end+w.between(calm/2, calm), "last hole", w.dig)
		}
		end += calm
	}
	w.at(end, "heal", w.heal)
	w.runUntil(end)
	w.settle()
	w.report.Trace = w.trace.Sum64()
	if w.violated != nil {
		return w.report, w.violated
	}
	return w.report, nil
}

func (w *world) build() {
	for i := range 1 + w.rand.IntN(6) {
		w.rows = append(w.rows, crdt.RowName{Rule: "daily", Key: fmt.Sprint("k", i), Start: baseUnix - 100, End: baseUnix + 86400})
	}
	// A period that ended: its grace runs out in the middle of the run.
	w.rows = append(w.rows, crdt.RowName{Rule: "daily", Key: "ending", Start: baseUnix - 100, End: baseUnix - 55})
	w.regions = regionNames
	if w.chance(twoRegionsChance) {
		w.regions = regionNames[:2]
	}
	for _, r := range w.regions {
		w.stores[r] = &store{region: r, nonce: w.rand.Uint64()}
		nodes := 2
		if w.chance(singleNodeChance) {
			nodes = 1
		}
		for i := range nodes {
			w.nodes = append(w.nodes, newNode(w, fmt.Sprintf("%s-%d", r, i+1), r))
		}
	}
	w.net = newNetwork(w)
	for _, n := range w.nodes {
		w.start(n)
		w.every(100*time.Millisecond, n.name+" tick", func() { w.tick(n) })
		w.every(time.Second, n.name+" save", func() { n.save() })
		w.every(time.Second, n.name+" members", func() { w.membership(n) })
	}
	w.at(w.decisionGap(), "decide", w.decide)
	w.at(w.faultGap(), "fault", w.fault)
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
	for w.violated == nil && !w.agreed() {
		if w.now-healed > bound {
			w.violate("converge", "%v after healing: %s", bound, w.disagreement())
			return
		}
		w.runUntil(w.now + 100*time.Millisecond)
	}
	w.report.Healed = w.now - healed
	w.runUntil(w.now + 3*time.Second)
	if w.violated == nil {
		w.checkEnd()
	}
}

// event is something that happens at an instant. Those of one instant happen
// in the order they were made.
type event struct {
	at   time.Duration
	seq  int
	what string
	do   func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || (e[i].at == e[j].at && e[i].seq < e[j].seq)
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) } //nolint:forcetypeassert // container/heap hands back what at pushed
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func (w *world) at(after time.Duration, what string, do func()) {
	w.seq++
	heap.Push(&w.queue, event{w.now + after, w.seq, what, do})
}

// every repeats, beginning at a random phase.
func (w *world) every(interval time.Duration, what string, do func()) {
	var again func()
	again = func() {
		do()
		w.at(interval, what, again)
	}
	w.at(w.between(0, interval), what, again)
}

func (w *world) runUntil(end time.Duration) {
	for w.violated == nil && len(w.queue) > 0 && w.queue[0].at <= end {
		e := heap.Pop(&w.queue).(event) //nolint:forcetypeassert // see Push
		w.now = e.at
		w.note("%v %s", e.at, e.what)
		w.report.Events++
		e.do()
	}
	w.now = max(w.now, end)
}

// note adds a line to the trace.
func (w *world) note(format string, args ...any) {
	fmt.Fprintf(w.trace, format+"\n", args...)
	if w.opt.Trace != nil {
		fmt.Fprintf(w.opt.Trace, format+"\n", args...)
	}
}

func (w *world) violate(checker, format string, args ...any) {
	if w.violated == nil {
		w.violated = &Violation{checker, fmt.Sprintf("at %v: ", w.now) + fmt.Sprintf(format, args...)}
	}
}

func (w *world) between(from, to time.Duration) time.Duration {
	return from + time.Duration(w.rand.Int64N(int64(to-from)))
}

func (w *world) chance(p float64) bool { return w.rand.Float64() < p }

func (w *world) faultGap() time.Duration {
	return w.between(100*time.Millisecond, 1500*time.Millisecond)
}
func (w *world) decisionGap() time.Duration {
	return w.between(2*time.Millisecond, 40*time.Millisecond)
}
