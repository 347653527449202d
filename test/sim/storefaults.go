package sim

import (
	"time"
)

// breakStore does to a region's store what stores suffer.
func (w *world) breakStore(kind Faults, r *region) {
	if r.embedded {
		return
	}
	switch kind {
	case Wipes:
		if w.plan.Faults.has(Crashes) && w.chance(0.15) {
			for _, n := range r.nodes {
				w.crashAndRestart(n)
			}
		}
		w.wipe(r)
		if w.chance(0.3) { // and once more, before all is well
			w.at(w.between(100*time.Millisecond, 1500*time.Millisecond), "wipe again", func() {
				if !w.calming {
					w.wipe(r)
				}
			})
		}
	case SetBacks:
		w.setBack(r)
	case SplitBrains:
		w.splitBrain(r)
	default:
		w.outage(r)
	}
}

// wipe loses all the store held; the server may be the same or have restarted.
func (w *world) wipe(r *region) {
	w.note("  store of %s wiped", r.name)
	w.report.StoresLost++
	r.store.empty()
	if w.chance(0.5) {
		r.store.run = w.nonce()
	}
	w.forget()
}

// loseEmbedded loses a store that lived in a process which died.
func (r *region) loseEmbedded() {
	if r.embedded {
		r.store.empty()
		r.store.run = r.store.w.nonce()
	}
}

// setBack keeps a copy, sets the store back to the one that was kept, or brings
// back what was set back from.
func (w *world) setBack(r *region) {
	switch {
	case r.kept == nil || w.chance(0.3):
		r.kept = r.store.copy()
	case r.lost != nil && w.chance(0.3):
		w.note("  store of %s is again what it was set back from", r.name)
		w.report.StoresLost++
		r.store.become(r.lost)
		w.forget()
	default:
		w.note("  store of %s set back", r.name)
		w.report.StoresLost++
		r.lost = r.store.copy()
		r.store.become(r.kept)
		w.forget()
	}
}

// splitBrain makes a copy of the store its master while the old one goes on for
// some nodes; the next time the old one ends.
func (w *world) splitBrain(r *region) {
	if r.old != nil {
		w.demote(r)
		return
	}
	w.note("  store of %s has two masters", r.name)
	w.report.Forks++
	w.truth.forkedNow(r)
	now := r.store.copy()
	if r.kept != nil && w.chance(0.5) {
		now = r.kept.copy()
	}
	r.old, r.store = r.store, now
	r.store.run, r.store.w = w.nonce(), w
	for _, n := range r.nodes {
		if w.chance(0.5) {
			n.master = r.old
		} else {
			n.master = r.store
		}
	}
	w.forget()
}

// demote ends the old master.
func (w *world) demote(r *region) {
	if r.old == nil {
		return
	}
	w.note("  the old master of %s ends", r.name)
	r.old.down = true
	r.old = nil
	for _, n := range r.nodes {
		n.master = r.store
	}
	w.forget()
}

// outage makes the store unreachable, for all of its nodes or one, or slow; or
// ends that.
func (w *world) outage(r *region) {
	n := r.nodes[w.rand.IntN(len(r.nodes))]
	switch w.rand.IntN(5) {
	case 0:
		w.note("  store of %s is down", r.name)
		r.store.down = true
	case 1:
		w.note("  %s does not reach its store", n.name)
		n.cutFromStore = true
	case 2:
		w.note("  store of %s is slow", r.name)
		r.store.slow = w.between(10*time.Millisecond, 200*time.Millisecond)
	default:
		r.store.down, r.store.slow = false, 0
		for _, n := range r.nodes {
			n.cutFromStore = false
		}
	}
}

// calmStores ends what stores suffer.
func (w *world) calmStores() {
	for _, r := range w.regions {
		w.demote(r)
		r.store.down, r.store.slow = false, 0
		for _, n := range r.nodes {
			n.master, n.cutFromStore = r.store, false
		}
	}
}
