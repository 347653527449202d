package giving

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"weir/crdt"
)

const (
	tick = 100 * time.Millisecond
	// heartbeat is how often a region is heard of that has no news.
	heartbeat = 500 * time.Millisecond
	// repair is how often whole rows are sent where messages are lost.
	repair = time.Second
	// retryAfter is what a call denied for rights is told.
	retryAfter = 500 * time.Millisecond
	maxCosts   = 128
)

// world is regions that count one row and tell each other, in virtual time. It
// repeats from its seed.
type world struct {
	rng   *rand.Rand
	now   time.Duration
	queue events
	order uint64

	limit, total int64 // Q and ⌊Q + ε⌋
	row          crdt.RowName
	sites        []*site
	loss         float64
	retries      int // how often a call that was denied for rights is tried again
	cut          func(a, b int, now time.Duration) bool

	allowed     int64
	firstDenied int64 // units allowed before anything was denied; -1 if nothing was
	gifts       int
	moved       int64
}

// event is something at an instant.
type event struct {
	at    time.Duration
	order uint64
	do    func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}

// newWorld has a region for each weight; over is ε in units.
func newWorld(seed uint64, limit, over int64, weights ...uint32) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 1)), limit: limit, total: limit + over, firstDenied: -1,
		row: crdt.RowName{Rule: "daily", Key: "k", End: 1}, cut: func(int, int, time.Duration) bool { return false }}
	var split []crdt.Weight
	for i, weight := range weights {
		split = append(split, crdt.Weight{Region: fmt.Sprintf("r%02d", i), Weight: weight})
	}
	shares, err := crdt.NewSplit(1, split)
	if err != nil {
		panic(err)
	}
	for i := range weights {
		s := &site{w: w, at: i, name: split[i].Region, node: crdt.NewRow(w.row), heard: make([]time.Duration, len(weights)), marked: -1}
		s.share = shares.Share(s.name, w.total)
		s.policy, _ = NewHalfSurplus(DefaultReservePercent, 10)
		s.view.Own = i
		for j := range weights {
			s.heard[j] = -1
			s.view.Regions = append(s.view.Regions, Region{Name: split[j].Region, Share: shares.Share(split[j].Region, w.total)})
		}
		w.sites = append(w.sites, s)
		w.after(time.Duration(w.rng.Int64N(int64(tick))), s.tick)
	}
	return w
}

func (w *world) after(wait time.Duration, do func()) {
	w.order++
	heap.Push(&w.queue, event{w.now + wait, w.order, do})
}

func (w *world) run(until time.Duration) {
	for w.queue[0].at <= until {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		e.do()
	}
	w.now = until
}

// traffic is calls at random instants, so many a second on average.
func (w *world) traffic(region int, from, to time.Duration, perSecond float64, lowest, highest int64) {
	if perSecond <= 0 {
		return
	}
	var next func()
	wait := func() time.Duration { return time.Duration(w.rng.ExpFloat64() / perSecond * float64(time.Second)) }
	next = func() {
		if w.now >= to {
			return
		}
		w.sites[region].call(lowest + w.rng.Int64N(highest-lowest+1))
		w.after(wait(), next)
	}
	w.after(from-w.now+wait(), next)
}

// sums adds up what the regions saw.
func (w *world) sums() (calls, denied int64, starved, helpless time.Duration) {
	for _, s := range w.sites {
		calls += s.allowed + s.denied + s.exhausted
		denied += s.denied
		starved, helpless = max(starved, s.starved.longest), max(helpless, s.helpless.longest)
	}
	return calls, denied, starved, helpless
}
