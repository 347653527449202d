package sim

import (
	"time"

	"weir/gossip"
)

// membership is the verdicts of the membership protocol, which come late and
// are sometimes wrong.
func (n *node) membership() {
	w := n.w
	for _, m := range w.nodes {
		if m == n {
			continue
		}
		reachable := m.runs() && w.net.connected(n, m) && w.net.connected(m, n)
		switch {
		case reachable && !n.up[m.name]:
			n.setUp(m, true)
		case reachable:
			delete(n.away, m.name)
			if !w.calming && w.plan.Faults.has(Network) && w.chance(0.003) {
				n.setUp(m, false)
			}
		case n.up[m.name]:
			since, known := n.away[m.name]
			if !known {
				n.away[m.name] = w.now
			} else if w.now-since > 3*time.Second && w.chance(0.4) {
				n.setUp(m, false)
			}
		}
	}
}

func (n *node) setUp(m *node, up bool) {
	n.w.note("  %s thinks %s up: %v", n.name, m.name, up)
	n.up[m.name] = up
	delete(n.away, m.name)
	if up {
		n.core.PeerUp(gossip.Peer{Name: m.name, Region: m.region.name})
		return
	}
	n.core.PeerDown(m.name)
	if m.region == n.region {
		n.readStore() // what it had counted and not told, the store may know
	}
	n.checkExchange()
}
