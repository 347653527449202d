package sim

import (
	"time"

	"weir/crdt"
)

// witness is a node of the region as it was when an exchange began.
type witness struct {
	node   *node
	life   int
	at     time.Duration
	memory []knownEntry
}

// vouched is what a node must know of its region after its last exchange:
// whatever those knew who answered it.
type vouched struct {
	known map[rowReplica]crdt.Entry
	by    map[*node]int // the lives of those who answered, its own among them
}

// witnesses are the nodes of the region that an exchange asks.
func (n *node) witnesses() (out []witness) {
	if !n.w.plan.losesStores() {
		return nil
	}
	for _, m := range n.region.nodes {
		if m == n || (m.core != nil && n.up[m.name] && n.asks(m)) {
			out = append(out, witness{m, m.life, n.w.now, m.memory()})
		}
	}
	return out
}

// asks says whether the node is to be asked. A law-breaker asks nobody, but
// would those that are there.
func (n *node) asks(m *node) bool {
	return !n.w.mutant.Unexchanged || (m.runs() && n.w.net.open(n, m) && n.w.net.open(m, n))
}

// vouch is what those must have told who answered. Where others than those that
// could not have not answered, nobody outside knows who, and none counts as
// having.
func (n *node) vouch(begun []witness, unanswered int) vouched {
	for _, wit := range begun {
		if wit.silent() {
			unanswered--
		}
	}
	v := vouched{map[rowReplica]crdt.Entry{}, map[*node]int{}}
	for _, wit := range begun {
		if wit.node != n && (unanswered > 0 || wit.silent() || !n.up[wit.node.name]) {
			continue
		}
		v.by[wit.node] = wit.life
		for _, k := range wit.memory {
			newer(v.known, rowReplica{k.row, k.entry.Replica}, k.entry)
		}
	}
	return v
}

// silent says whether a process has done nothing since the exchange began.
func (wit *witness) silent() bool {
	m := wit.node
	return m.core == nil || m.life != wit.life || (m.paused && m.pausedAt <= wit.at)
}

func newer(m map[rowReplica]crdt.Entry, k rowReplica, e crdt.Entry) {
	if e.Version > m[k].Version {
		m[k] = e
	}
}

// memory is what a process knows of its own region's replicas.
func (n *node) memory() (out []knownEntry) {
	for id, entries := range n.seen {
		for _, e := range entries {
			if e.Replica.Region == n.region.name {
				out = append(out, knownEntry{id, e})
			}
		}
	}
	return out
}
