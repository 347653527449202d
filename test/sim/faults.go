package sim

import "time"

// fault breaks or mends something, again and again.
func (w *world) fault() {
	if w.calming {
		return
	}
	gap := w.faultGap()
	if w.chance(0.2) {
		gap = time.Duration(w.rand.Int64N(int64(5 * time.Millisecond))) // two at once
	}
	w.at(gap, "fault", w.fault)
	n := w.nodes[w.rand.IntN(len(w.nodes))]
	r := w.regions[w.rand.IntN(len(w.regions))]
	kind := Faults(1) << w.rand.IntN(len(faultNames))
	if !w.plan.Faults.has(kind) {
		kind = w.plan.Faults & -w.plan.Faults // the first there is
	}
	switch kind {
	case Network:
		w.breakNetwork(n, r)
	case Crashes, Disks:
		w.crashSome(n, r)
	case Burials:
		if w.chance(0.3) && w.mayBury(n) {
			w.bury(n)
		}
	case Pauses:
		w.pauseAndWake(n)
	default:
		w.breakStore(kind, r)
	}
	w.noteSilence()
}

func (w *world) breakNetwork(n *node, r *region) {
	switch w.rand.IntN(9) {
	case 0, 1:
		w.note("  weather changes")
		w.net.weather()
	case 6:
		w.flap(r, 2+w.rand.IntN(8))
	case 2:
		w.cut("region "+r.name, func(m *node) bool { return m.region == r }, true)
	case 3:
		w.cut("node "+n.name, func(m *node) bool { return m == n }, true)
	case 4:
		w.cut("out of region "+r.name, func(m *node) bool { return m.region == r }, false)
	case 5:
		w.cutPairs()
	default:
		w.mend()
	}
}

// flap cuts a region off and mends that, a number of times.
func (w *world) flap(r *region, times int) {
	if w.calming || times == 0 {
		return
	}
	if times%2 == 0 {
		w.cut("region "+r.name, func(m *node) bool { return m.region == r }, w.chance(0.5))
	} else {
		w.mend()
	}
	w.noteSilence()
	w.at(w.between(50*time.Millisecond, 600*time.Millisecond), "flap", func() { w.flap(r, times-1) })
}

// crashSome ends one process, those of a region, or all, and starts them again.
func (w *world) crashSome(n *node, r *region) {
	if w.plan.Faults&(Crashes|Disks) == 0 {
		return
	}
	switch w.wheel(8, 1, 1) {
	case 0:
		w.crashAndRestart(n)
	case 1:
		for _, m := range r.nodes {
			w.crashAndRestart(m)
		}
	default:
		for _, m := range w.nodes {
			w.crashAndRestart(m)
		}
	}
}

// pauseAndWake stops a process and lets it go on, some time later or an hour.
func (w *world) pauseAndWake(n *node) {
	if !n.runs() {
		return
	}
	n.pause()
	life := n.life
	w.at(w.between(10*time.Millisecond, 5*time.Second), "wake "+n.name, func() {
		if n.life == life && n.core != nil {
			n.wake()
		}
	})
}

// cut blocks the links out of a group, and into it if both.
func (w *world) cut(what string, in func(*node) bool, both bool) {
	w.note("  cut %s, both ways: %v", what, both)
	for _, a := range w.nodes {
		for _, b := range w.nodes {
			if in(a) && !in(b) {
				w.net.blocked[link{a.name, b.name}] = true
				if both {
					w.net.blocked[link{b.name, a.name}] = true
				}
			}
		}
	}
}

// cutPairs blocks single directions of single links.
func (w *world) cutPairs() {
	for range 1 + w.rand.IntN(8) {
		a, b := w.nodes[w.rand.IntN(len(w.nodes))], w.nodes[w.rand.IntN(len(w.nodes))]
		w.note("  cut %s → %s", a.name, b.name)
		if a != b {
			w.net.blocked[link{a.name, b.name}] = true
		}
	}
}

// mend opens all blocked links, or some.
func (w *world) mend() {
	all := w.chance(0.5)
	w.note("  mend, all: %v", all)
	for _, a := range w.nodes {
		for _, b := range w.nodes {
			if l := (link{a.name, b.name}); w.net.blocked[l] && (all || w.chance(0.5)) {
				delete(w.net.blocked, l)
			}
		}
	}
}

// dig makes a hole in one link, one way or both, that is never mended. Whatever
// the two have to tell each other must take another way.
func (w *world) dig() {
	a, b := w.nodes[w.rand.IntN(len(w.nodes))], w.nodes[w.rand.IntN(len(w.nodes))]
	if a == b || len(w.net.holes) > 0 || len(w.living()) < 3 {
		return // that would leave no other way
	}
	both := w.chance(0.5)
	w.note("  hole %s → %s, both ways: %v", a.name, b.name, both)
	w.unwell()
	w.net.holes[link{a.name, b.name}] = true
	if both {
		w.net.holes[link{b.name, a.name}] = true
	}
}

func (w *world) crashAndRestart(n *node) {
	if n.core == nil {
		return
	}
	w.crash(n)
	life := n.life
	down := w.between(50*time.Millisecond, 6*time.Second)
	if w.chance(0.6) {
		down /= 6
	}
	w.at(down, "restart "+n.name, func() {
		if n.core == nil && n.life == life && !n.buried {
			w.start(n)
		}
	})
}

// mayBury says whether the region keeps a node without this one, and those who
// do not reach each other keep another between them.
func (w *world) mayBury(n *node) bool {
	if len(w.net.holes) > 0 && len(w.living()) <= 3 {
		return false
	}
	for _, m := range w.nodes {
		if m != n && m.region == n.region && !m.buried {
			return !n.buried
		}
	}
	return false
}

// bury ends a node for good: neither it nor its disk comes back.
func (w *world) bury(n *node) {
	w.note("  %s is gone for good", n.name)
	if n.core != nil {
		w.truth.died(n)
	}
	n.buried, n.core, n.paused, n.backlog, n.flights = true, nil, false, nil, nil
	n.wipeDisk()
	n.region.loseEmbedded()
	w.forget()
	w.unwell()
}

// living are the nodes that are not buried.
func (w *world) living() (nodes []*node) {
	for _, n := range w.nodes {
		if !n.buried {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// noteSilence keeps since when each region has had no way out.
func (w *world) noteSilence() {
	for _, r := range w.regions {
		silent, region := true, r.name
		for _, a := range w.nodes {
			for _, b := range w.nodes {
				if a.region == r && b.region != r && w.net.open(a, b) {
					silent = false
				}
			}
		}
		if _, was := w.net.silent[region]; !silent {
			delete(w.net.silent, region)
		} else if !was {
			w.net.silent[region] = w.now
		}
	}
}

// buryOne ends a node when all is well: the last news of others may have reached
// it alone.
func (w *world) buryOne() {
	if n := w.nodes[w.rand.IntN(len(w.nodes))]; w.mayBury(n) {
		w.bury(n)
	}
}

// unwell notes that something broke.
func (w *world) unwell() {
	if w.wellSince > 0 {
		w.wellSince = w.now
	}
}

// calm ends all faults and lets every node live.
func (w *world) calm() {
	w.calming = true
	w.wellSince = w.now
	w.net.calm()
	w.calmStores()
	for _, n := range w.living() {
		n.wake()
		if n.core == nil {
			w.start(n)
		}
	}
}

// heal calms, and then nothing is counted any more.
func (w *world) heal() {
	w.calm()
	w.healing = true
	for _, n := range w.living() {
		n.readStore()
	}
}
