package sim

import (
	"weir/crdt"
	"weir/region/ledger"
)

// splitView is what somebody knows of the next split: that there is one, and
// which regions acknowledged it, each with the second after which it opens no
// period under the split before; 0: it has not.
type splitView struct {
	next  bool
	acked [4]int64
}

func (v *splitView) merge(o splitView) (changed bool) {
	before := *v
	v.next = v.next || o.next
	for i := range v.acked {
		if v.acked[i] == 0 {
			v.acked[i] = o.acked[i]
		}
	}
	return *v != before
}

// nodeSplit is what a node knows, and what of it its disk holds: other regions
// are told no more than that.
type nodeSplit struct{ view, disk splitView }

// splits is a view as the ledger takes it.
func (w *world) splits(v splitView) crdt.Splits {
	var s crdt.Splits
	s.Add(w.split(1, w.plan.Weights))
	if w.plan.Next == nil || !v.next {
		return s
	}
	s.Add(w.split(2, w.plan.Next))
	for i, after := range v.acked {
		if after != 0 {
			s.Acknowledge(2, crdt.Ack{Region: w.plan.Regions[i], After: after})
		}
	}
	return s
}

func (n *node) loadSplit() {
	n.split.view = n.split.disk
	n.renewLedger()
}

// renewLedger makes a ledger that knows the splits as they are. Its region's own
// acknowledgement counts for caution alone until the disk holds it.
func (n *node) renewLedger() {
	v := n.split.view
	own := n.region.index
	if v.acked[own] != 0 && n.split.disk.acked[own] == 0 {
		only := splitView{next: true}
		only.acked[own] = v.acked[own]
		v = only
	}
	n.w.note("  %s: splits %+v, its disk has %+v", n.name, v, n.split.disk)
	s := n.w.splits(v)
	if n.w.mutant.LocalSplit && v.next {
		s = crdt.Splits{}
		s.Add(n.w.split(2, n.w.plan.Next))
	}
	n.ledger = ledger.New(n.region.name, &n.rows, func() *crdt.Splits { return &s }, n.now)
}

// hearSplit takes in what another node knows.
func (n *node) hearSplit(v splitView) {
	if n.w.plan.Next != nil && n.split.view.merge(v) {
		n.renewLedger()
	}
}

// tells is what a node tells another of the splits.
func (n *node) tells(m *node) splitView {
	if m.region == n.region {
		return n.split.view
	}
	return n.split.disk
}

// syncSplit notes that the disk holds a view.
func (n *node) syncSplit(v splitView) {
	if n.w.plan.Next != nil && n.split.disk.merge(v) {
		n.renewLedger()
	}
}

// named is the acknowledgement that a node names in its calls.
func (n *node) named() int64 { return n.split.view.acked[n.region.index] }

// learnAcked takes in what the store's marker says.
func (n *node) learnAcked(after int64) {
	if after == 0 {
		return
	}
	v := splitView{next: true}
	v.acked[n.region.index] = after
	n.hearSplit(v)
}

// acknowledge has the store acknowledge a split on the region's behalf.
func (n *node) acknowledge() {
	if !n.split.view.next || n.named() != 0 {
		return
	}
	s, reign, after := n.master, n.reign, int64(0)
	c := n.newCall(nil)
	n.send(c, "acknowledge", func() {
		var ok bool
		if after, ok = s.acknowledge(reign); ok {
			n.w.truth.acknowledged(n.region, after)
			n.w.note("  store of %s acknowledges: after %d", n.region.name, after-baseUnix)
		}
	}, func() { n.learnAcked(after) }, func() {})
}

// nextSplit is an operator who changes the split at some node.
func (w *world) nextSplit() {
	for _, n := range w.nodes {
		if n.runs() {
			v := splitView{next: true}
			n.hearSplit(v)
			w.note("  %s hears of the next split", n.name)
			w.truth.split.next = true
			return
		}
	}
	w.at(w.faultGap(), "next split", w.nextSplit)
}
