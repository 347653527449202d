package sim

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"weir/crdt"
)

// gracePeriod is how long after its end a period is counted, in seconds.
const gracePeriod = 60

// ledger is the truth: what was counted, told by nobody under test.
type ledger struct {
	// counted holds every entry that ever was, by version, and the last.
	counted map[rowReplica]map[uint64]crdt.Entry
	last    map[rowReplica]crdt.Entry
	// must holds, of each replica, the newest that a store, a node or a disk
	// has known ever since it was counted.
	must map[rowReplica]crdt.Entry
}

func newLedger() ledger {
	return ledger{map[rowReplica]map[uint64]crdt.Entry{}, map[rowReplica]crdt.Entry{}, map[rowReplica]crdt.Entry{}}
}

func (l *ledger) count(name crdt.RowName, e crdt.Entry) {
	k := rowReplica{name, e.Replica}
	if l.counted[k] == nil {
		l.counted[k] = map[uint64]crdt.Entry{}
	}
	l.counted[k][e.Version] = e
	l.last[k], l.must[k] = e, e
}

// forget lowers what must be known to what somebody still knows. It is called
// after a store, a process or a disk lost something, and only then.
func (w *world) forget() {
	known := map[rowReplica]crdt.Entry{}
	keep := func(name crdt.RowName, e crdt.Entry) {
		if k := (rowReplica{name, e.Replica}); e.Version > known[k].Version {
			known[k] = e
		}
	}
	for _, s := range w.stores {
		for name, e := range s.rows {
			keep(name, e)
		}
	}
	for _, n := range w.nodes {
		for _, e := range w.known(n) {
			keep(e.row, e.entry)
		}
		for name, row := range n.disk {
			for _, e := range row.Entries() {
				keep(name, e)
			}
		}
	}
	for k, must := range w.ledger.must {
		if known[k].Version < must.Version && !w.ends(k.row) && !w.ownNumbers() {
			w.note("  forgotten, among %d", len(known))
			w.report.Forgotten++
			w.ledger.must[k] = known[k]
		}
	}
}

func (w *world) ownNumbers() bool { return w.opt.Mutant != nil && w.opt.Mutant.OwnNumbers }

func (w *world) ends(name crdt.RowName) bool { return name.End < baseUnix }

type knownEntry struct {
	row   crdt.RowName
	entry crdt.Entry
}

// known is what a live node's core holds.
func (w *world) known(n *node) (out []knownEntry) {
	if n.core == nil {
		return nil
	}
	var row crdt.Row
	for _, name := range w.rows {
		if n.core.Row(name.ID(), &row) {
			for _, e := range row.Entries() {
				out = append(out, knownEntry{name, e})
			}
		}
	}
	return out
}

// checkNode looks at a node whose core changed: nothing fell, nothing was
// invented.
func (w *world) checkNode(n *node) {
	if n.core.Changes() == n.changes {
		return
	}
	n.changes = n.core.Changes()
	now := map[rowReplica]crdt.Entry{}
	for _, k := range w.known(n) {
		id := rowReplica{k.row, k.entry.Replica}
		now[id] = k.entry
		if !w.ownNumbers() && w.ledger.counted[id][k.entry.Version] != k.entry {
			w.violate("invented", "%s has %v of row %s, which nobody counted", n.name, k.entry, k.row.Key)
		}
	}
	for id, before := range n.seen {
		e := now[id]
		if w.ends(id.row) {
			continue
		}
		if e.Version < before.Version || e.Taken < before.Taken || e.Returned < before.Returned {
			w.violate("grow", "%s: row %s fell from %v to %v", n.name, id.row.Key, before, e)
		}
	}
	n.seen = now
}

// checkAges: a region whose every way out is shut is not said to be fresher
// than its silence. What is on its way is not aged: a word of it may be passed
// on by one node after another, each time late.
func (w *world) checkAges(n *node) {
	for _, h := range n.core.Heard(n.now()) {
		since, silent := w.net.silent[h.Region]
		if silent && h.Region != n.region && h.Known && h.Age < w.now-since-4*w.net.worst-time.Second {
			w.violate("ages", "%s says %s is %v old; it has been silent for %v", n.name, h.Region, h.Age, w.now-since)
		}
	}
}

// agreed says whether all nodes hold the same rows, and nothing is on its way
// to disagree.
func (w *world) agreed() bool { return w.disagreement() == "" }

func (w *world) disagreement() string {
	nodes := w.living()
	first := w.state(nodes[0])
	for _, n := range nodes[1:] {
		if s := w.state(n); !maps.Equal(first, s) {
			return fmt.Sprintf("%s has %s, %s has %s", nodes[0].name, show(first), n.name, show(s))
		}
	}
	for k, must := range w.ledger.must {
		if got := first[k]; !w.ownNumbers() && got.Version < must.Version && !w.ends(k.row) {
			return fmt.Sprintf("all have %v of row %s, %v was counted and not forgotten", got, k.row.Key, must)
		}
	}
	return ""
}

func (w *world) state(n *node) map[rowReplica]crdt.Entry {
	out := map[rowReplica]crdt.Entry{}
	for _, k := range w.known(n) {
		if !w.ends(k.row) {
			out[rowReplica{k.row, k.entry.Replica}] = k.entry
		}
	}
	return out
}

func show(state map[rowReplica]crdt.Entry) string {
	var lines []string
	for k, e := range state {
		lines = append(lines, fmt.Sprintf("%s %v", k.row.Key, e))
	}
	return "{" + strings.Join(lines, "; ") + "}"
}

// checkEnd compares every row's sums with the ledger.
func (w *world) checkEnd() {
	for _, name := range w.rows {
		if w.ends(name) {
			continue
		}
		for _, region := range w.regions {
			w.checkSums(name, region)
		}
	}
	for _, n := range w.living() {
		if !n.core.FirstSync() {
			w.violate("sync", "%s never got a whole answer", n.name)
		}
		for _, h := range n.core.Heard(n.now()) {
			if !h.Known || h.Age > 2*time.Second {
				w.violate("ages", "%s says %s is %v old (known: %v), all is well", n.name, h.Region, h.Age, h.Known)
			}
		}
		if n.unix() > baseUnix-55+gracePeriod+1 && n.core.Len() > len(w.rows)-1 {
			w.violate("periods", "%s keeps %d rows, one of them ended", n.name, n.core.Len())
		}
	}
}

// checkSums: never below what was counted and not forgotten, never above what
// was counted.
func (w *world) checkSums(name crdt.RowName, region string) {
	var low, high crdt.Entry
	add := func(sum *crdt.Entry, k rowReplica, e crdt.Entry) {
		if k.row == name && k.replica.Region == region {
			sum.Taken += e.Taken
			sum.Returned += e.Returned
		}
	}
	for k, e := range w.ledger.must {
		add(&low, k, e)
	}
	for k, e := range w.ledger.last {
		add(&high, k, e)
	}
	w.report.Counted += high.Taken
	for _, n := range w.living() {
		var row crdt.Row
		n.core.Row(name.ID(), &row)
		taken, returned := row.Region(region)
		if taken < low.Taken || taken > high.Taken || returned < low.Returned || returned > high.Returned {
			w.violate("ledger", "%s: region %s of row %s took %d and gave back %d; counted %d and %d, known ever since %d and %d",
				n.name, region, name.Key, taken, returned, high.Taken, high.Returned, low.Taken, low.Returned)
		}
	}
}
