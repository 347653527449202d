package giving

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"weir/crdt"
	"weir/limiter/quota"
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

// site is one region: its store's row, one node's rows, and callers.
type site struct {
	w      *world
	at     int
	name   string
	share  int64
	store  quota.Row
	node   *crdt.Row
	heard  []time.Duration // when each region was last heard; below 0 is never
	view   View
	policy *HalfSurplus

	changed bool // since the policy last looked
	told    uint64
	toldAt  time.Duration
	marked  time.Duration // when a refusal was noted last; below 0 is never

	allowed, denied   int64 // calls; denied for rights while quota was left
	exhausted         int64
	lastAllowed       time.Duration
	starved, helpless streaks
}

// streaks measures for how long costs were refused for rights without a break.
type streaks struct {
	since   [maxCosts]time.Duration // 0 is not refused
	longest time.Duration
}

func (s *streaks) refuse(cost int64, now time.Duration) {
	if s.since[cost] == 0 {
		s.since[cost] = now
	}
	s.longest = max(s.longest, now-s.since[cost])
}

// serve ends the streaks of costs up to this one.
func (s *streaks) serve(cost int64) { clear(s.since[:cost+1]) }

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

func (s *site) bounds() quota.Bounds {
	return quota.Bounds{Ceiling: quota.Ceiling(s.w.limit, s.node.Elsewhere(s.name)), Allotted: s.share + s.node.Received(s.name)}
}

func (s *site) rights() int64 { return s.store.Sums().Rights(s.bounds()) }

// call is one caller's check, tried again as its answer says when it was denied
// for rights.
func (s *site) call(cost int64) { s.try(cost, s.w.retries) }

// try is one check, decided as the store does.
func (s *site) try(cost int64, retries int) {
	w, b := s.w, s.bounds()
	out := s.store.Sums().Try(b, cost)
	if out != quota.Fits && w.firstDenied < 0 {
		w.firstDenied = w.allowed
	}
	switch out {
	case quota.Fits:
		s.store.Charge(b, cost)
		w.allowed += cost
		s.allowed++
		s.lastAllowed = w.now
		s.starved.serve(cost)
		s.helpless.serve(cost)
	case quota.NoRights:
		s.refuse(cost)
		if retries > 0 {
			w.after(retryAfter+time.Duration(w.rng.Int64N(int64(retryAfter/2))), func() { s.try(cost, retries-1) })
		}
	default:
		s.exhausted++
	}
}

// refuse notes a refusal, and says a want again once a second, whatever was
// allowed meanwhile.
func (s *site) refuse(cost int64) {
	w := s.w
	again := s.marked < 0 || w.now-s.marked >= time.Second
	if again {
		s.marked = w.now
	}
	s.store.Refuse(cost, again)
	if w.allowed+cost > w.limit {
		return // (a) would say so, if it were known here
	}
	s.denied++
	beyond, all := s.rights(), s.rights()
	reserve := (w.limit - w.allowed) * DefaultReservePercent / 100 / int64(len(w.sites))
	for _, other := range w.sites {
		if other != s && !w.cut(s.at, other.at, w.now) {
			rights := other.rights()
			all += max(0, rights)
			beyond += max(0, rights-reserve)
		}
	}
	if beyond >= cost {
		s.starved.refuse(cost, w.now)
	} else {
		s.starved.serve(cost)
	}
	if all >= cost {
		s.helpless.refuse(cost, w.now)
	} else {
		s.helpless.serve(cost)
	}
}

// record takes the store's entry into the node's row.
func (s *site) record() {
	c := &s.store.Own
	if c.Version > 0 && s.node.Merge(crdt.Entry{Replica: crdt.Replica{Region: s.name, Nonce: 1}, Version: c.Version, Taken: c.Taken,
		Returned: c.Returned, Granted: c.Granted, Unmet: c.Unmet, Gifts: c.Gifts}) {
		s.changed = true
	}
}

func (s *site) tick() {
	s.record()
	s.give()
	s.tell()
	s.w.after(tick, s.tick)
}

// give looks at the row if it changed, and makes one gift at most.
func (s *site) give() {
	if !s.changed {
		return
	}
	s.changed = false
	for i := range s.view.Regions {
		r := &s.view.Regions[i]
		r.Known, r.Age = s.heard[i] >= 0, s.w.now-s.heard[i]
	}
	s.view.Read(s.node, s.w.limit)
	gift, ok := s.policy.Gift(s.w.now, &s.view)
	if !ok {
		return
	}
	if moved := s.store.Give(s.bounds(), gift.To, gift.Target, gift.Keep); moved > 0 {
		s.w.gifts++
		s.w.moved += moved
		s.record()
	}
}

// tell sends the own entry where it changed, or a sign of life. Where messages
// get lost, whole rows go now and then.
func (s *site) tell() {
	w := s.w
	whole := w.loss > 0 && w.now/repair != (w.now-tick)/repair
	if !whole && s.told == s.store.Own.Version && w.now-s.toldAt < heartbeat {
		return
	}
	var entries []crdt.Entry
	for _, e := range s.node.Entries() {
		if whole || e.Replica.Region == s.name {
			entries = append(entries, e)
		}
	}
	s.told, s.toldAt = s.store.Own.Version, w.now
	for _, other := range w.sites {
		if other == s || w.cut(s.at, other.at, w.now) || w.rng.Float64() < w.loss {
			continue
		}
		w.after(100*time.Millisecond+time.Duration(w.rng.Int64N(int64(200*time.Millisecond))), func() {
			if !w.cut(s.at, other.at, w.now) {
				other.hear(s.at, entries)
			}
		})
	}
	if w.cutsAny(s.at) {
		s.told = 0 // told again until the cut is healed
	}
}

func (w *world) cutsAny(at int) bool {
	for i := range w.sites {
		if i != at && w.cut(at, i, w.now) {
			return true
		}
	}
	return false
}

func (s *site) hear(from int, entries []crdt.Entry) {
	s.heard[from] = s.w.now
	for _, e := range entries {
		if s.node.Merge(e) {
			s.changed = true
		}
	}
	if s.store.Own.Version == 0 && s.node.Unmet(s.w.sites[from].name) > 0 {
		s.store.Open() // so that others hear that the region holds its share
		s.record()
	}
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
