package sim

import (
	"fmt"
	"strings"
	"time"

	"weir/crdt"
)

// gracePeriod is how long after its end a period is counted, in seconds.
const gracePeriod = 60

// dropping says whether nodes may be dropping a row already, by their clocks.
func (w *world) dropping(name crdt.RowName) bool {
	return baseUnix+int64(w.now/time.Second) > name.End+gracePeriod-10
}

// forget lowers what must be known to what somebody still knows. It is called
// after a store, a process or a disk lost something, and only then.
func (w *world) forget() {
	known := map[rowReplica]uint64{}
	keep := func(id crdt.RowID, e crdt.Entry) {
		k := rowReplica{id, e.Replica}
		known[k] = max(known[k], e.Version)
	}
	for _, r := range w.regions {
		for _, s := range []*redis{r.store, r.old} {
			if s == nil {
				continue
			}
			for id, row := range s.rows {
				for _, e := range s.entries(row) {
					keep(id, e)
				}
			}
		}
	}
	for _, n := range w.nodes {
		if n.core != nil {
			for id, entries := range n.seen {
				for _, e := range entries {
					keep(id, e)
				}
			}
		}
		for id, row := range n.disk {
			for _, e := range row.Entries() {
				keep(id, e)
			}
		}
	}
	for _, rt := range w.truth.list {
		for _, k := range rt.order {
			if v := known[rowReplica{rt.id, k.replica}]; v < k.must {
				w.report.Forgotten++
				k.must = v
			}
		}
	}
}

// look looks at a node whose core changed: nothing fell, nothing was invented,
// nothing left its region that no disk held.
func (n *node) look() {
	for {
		n.changed = n.core.TakeChanged(n.changed[:0], 100)
		for _, id := range n.changed {
			n.lookAt(id)
		}
		if len(n.changed) < 100 {
			return
		}
	}
}

func (n *node) lookAt(id crdt.RowID) {
	if !n.core.Row(id, &n.row) {
		return
	}
	w := n.w
	rt := w.truth.rows[id]
	before := n.seen[id]
	now := append([]crdt.Entry(nil), n.row.Entries()...)
	n.seen[id] = now
	n.giver.note(id)
	for _, e := range now {
		have := find(before, e.Replica)
		if have == e {
			continue
		}
		if e.Version < have.Version || e.Taken < have.Taken || e.Returned < have.Returned {
			w.violate("grow", "%s: row %s fell from %v to %v", n.name, n.row.Name().Key, have, e)
		}
		if rt == nil || !rt.wrote(e) {
			w.violate("invented", "%s has %v of row %s, which nobody counted", n.name, e, n.row.Name().Key)
			return
		}
		if e.Replica.Region != n.region.name {
			w.truth.outside(n, id, e)
			n.mishear(rt, e)
		}
	}
	if len(now) < len(before) {
		w.violate("grow", "%s: row %s had %d replicas and has %d", n.name, n.row.Name().Key, len(before), len(now))
	}
}

// mishear is the law-breaker's.
func (n *node) mishear(rt *rowTruth, e crdt.Entry) {
	if n.w.mutant.Hear != nil {
		_, _ = n.core.Record(rt.id, rt.name, n.w.mutant.Hear(rt.replicas[e.Replica], e))
	}
}

func find(entries []crdt.Entry, r crdt.Replica) crdt.Entry {
	for _, e := range entries {
		if e.Replica == r {
			return e
		}
	}
	return crdt.Entry{}
}

// wrote says whether an entry is one that its writer wrote.
func (rt *rowTruth) wrote(e crdt.Entry) bool {
	k := rt.replicas[e.Replica]
	return k != nil && e.Version > 0 && e.Version <= uint64(len(k.entries)) && k.entries[e.Version-1] == e
}

// checkAges: a region whose every way out is shut is not said to be fresher
// than its silence. What is on its way is not aged: a word of it may be passed
// on by one node after another, each time late.
func (n *node) checkAges() {
	w := n.w
	for _, h := range n.core.Heard(n.now()) {
		since, silent := w.net.silent[h.Region]
		if silent && h.Region != n.region.name && h.Known && h.Age < w.now-since-4*w.net.worst-time.Second {
			w.violate("ages", "%s says %s is %v old; it has been silent for %v", n.name, h.Region, h.Age, w.now-since)
		}
	}
}

// agreed says whether all nodes hold the same rows, and nothing is on its way
// to disagree.
func (w *world) agreed() bool { return w.disagreement() == "" }

func (w *world) disagreement() string {
	nodes := w.living()
	for _, rt := range w.truth.list {
		if w.dropping(rt.name) {
			continue
		}
		first := nodes[0].entries(rt)
		for _, n := range nodes[1:] {
			if have := n.entries(rt); !equal(first, have) {
				return fmt.Sprintf("row %s: %s has %s, %s has %s", label(rt.name), nodes[0].name, show(first), n.name, show(have))
			}
		}
		for _, k := range rt.order {
			if got := find(first, k.replica); got.Version < k.must {
				return fmt.Sprintf("all have %v of row %s, version %d was counted and not forgotten", got, label(rt.name), k.must)
			}
		}
	}
	return ""
}

func (n *node) entries(rt *rowTruth) []crdt.Entry {
	if n.core == nil || !n.core.Row(rt.id, &n.row) {
		return nil
	}
	return append([]crdt.Entry(nil), n.row.Entries()...)
}

func equal(a, b []crdt.Entry) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func show(entries []crdt.Entry) string {
	var lines []string
	for _, e := range entries {
		lines = append(lines, fmt.Sprintf("%s/%x v%d +%d −%d", e.Replica.Region, e.Replica.Nonce&0xffff, e.Version, e.Taken, e.Returned))
	}
	return "{" + strings.Join(lines, "; ") + "}"
}
