package sim

import (
	"time"

	"weir/crdt"
)

// fault breaks or mends something, again and again.
func (w *world) fault() {
	if w.calming {
		return
	}
	w.at(w.faultGap(), "fault", w.fault)
	n := w.nodes[w.rand.IntN(len(w.nodes))]
	region := w.regions[w.rand.IntN(len(w.regions))]
	switch w.rand.IntN(10) {
	case 0:
		w.note("  weather changes")
		w.net.weather()
	case 1:
		w.cut("region "+region, func(m *node) bool { return m.region == region }, true)
	case 2:
		w.cut("node "+n.name, func(m *node) bool { return m == n }, true)
	case 3:
		w.cut("out of region "+region, func(m *node) bool { return m.region == region }, false)
	case 4:
		w.cutPairs()
	case 5, 6:
		w.mend()
	case 7, 8:
		if w.chance(0.1) && w.mayBury(n) {
			w.bury(n)
		} else {
			w.crashAndRestart(n)
		}
	case 9:
		if w.chance(0.5) {
			w.note("  store of %s wiped", region)
			w.wipe(w.stores[region])
		}
	}
	w.noteSilence()
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
	w.at(w.between(50*time.Millisecond, 6*time.Second), "restart "+n.name, func() {
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
	n.buried, n.core = true, nil
	n.disk, n.oldDisk = map[crdt.RowName]*crdt.Row{}, map[crdt.RowName]*crdt.Row{}
	w.forget()
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
	for _, region := range w.regions {
		silent := true
		for _, a := range w.nodes {
			for _, b := range w.nodes {
				if a.region == region && b.region != region && w.net.open(a, b) {
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

// calm ends all faults and lets every node live.
func (w *world) calm() {
	w.calming = true
	w.net.calm()
	for _, n := range w.living() {
		if n.core == nil {
			w.start(n)
		}
	}
}

// heal calms, and then nothing is counted any more.
func (w *world) heal() {
	w.calm()
	w.healing = true
	w.reconcile()
}
