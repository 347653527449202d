package giving

import (
	"time"

	"weir/crdt"
	"weir/limiter/quota"
)

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
		if other != s && !w.cut(s.at, other.at, w.now) && !w.cut(other.at, s.at, w.now) {
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
