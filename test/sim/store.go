package sim

import (
	"weir/crdt"
)

// store is a region's toy store: one entry a row, under the nonce of its reign.
type store struct {
	region string
	nonce  uint64
	rows   map[crdt.RowName]crdt.Entry
}

// wipe loses all the store held and begins a new reign.
func (w *world) wipe(s *store) {
	s.rows = nil
	if w.opt.Mutant == nil || !w.opt.Mutant.ReuseReplica {
		s.nonce = w.rand.Uint64()
	}
	w.forget()
}

// decide lets one node take units, mostly from its region's store, and tell its
// core. A reply that is lost leaves the count known to the store alone.
func (w *world) decide() {
	if w.healing {
		return
	}
	w.at(w.decisionGap(), "decide", w.decide)
	n := w.nodes[w.rand.IntN(len(w.nodes))]
	name := w.rows[w.rand.IntN(len(w.rows))]
	if n.core == nil || (name.End < baseUnix && w.now > 0 && n.unix() >= name.End+gracePeriod) {
		return
	}
	if w.chance(0.1) { // open: the node counts for itself
		e := w.grow(n.entries[name], crdt.Replica{Region: n.region, Nonce: n.own})
		n.entries[name] = e
		w.record(n, name, e)
		return
	}
	s := w.stores[n.region]
	e := w.grow(s.rows[name], crdt.Replica{Region: s.region, Nonce: s.nonce})
	if s.rows == nil {
		s.rows = map[crdt.RowName]crdt.Entry{}
	}
	s.rows[name] = e
	w.ledger.count(name, e)
	if !w.chance(0.05) {
		w.record(n, name, e)
	}
}

// grow is an entry after one more decision: some units taken, sometimes some
// given back.
func (w *world) grow(e crdt.Entry, replica crdt.Replica) crdt.Entry {
	e.Replica = replica
	e.Version++
	e.Taken += 1 + w.rand.Int64N(5)
	if w.chance(0.2) {
		e.Returned += w.rand.Int64N(e.Net() + 1)
	}
	return e
}

func (w *world) record(n *node, name crdt.RowName, e crdt.Entry) {
	w.note("  %s counts %s %v", n.name, name.Key, e)
	w.ledger.count(name, e)
	if m := w.opt.Mutant; m != nil && m.Record != nil {
		e = m.Record(e)
	}
	if _, err := n.core.Record(name.ID(), name, e); err != nil && !w.ends(name) {
		w.violate("refused", "%s: row %s: %v", n.name, name.Key, err)
	}
	w.checkNode(n)
}

// reconcile tells a node of each region all its store holds, as nodes do
// slowly all the time.
func (w *world) reconcile() {
	told := map[string]bool{}
	for _, n := range w.living() {
		for _, name := range w.rows {
			if e, ok := w.stores[n.region].rows[name]; ok && !told[n.region] {
				w.record(n, name, e)
			}
		}
		told[n.region] = true
	}
}
