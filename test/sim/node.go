package sim

import (
	"math/rand/v2"
	"time"

	"weir/crdt"
	"weir/gossip"
)

// node is one process and its disk.
type node struct {
	name, region string
	w            *world

	core *gossip.Core // nil while it is down
	life int
	// The process's clocks: what its monotonic one read at virtual instant 0,
	// and how wrong its time of day is.
	clock time.Duration
	skew  int64
	// own is the replica it writes while it decides without the store.
	own     uint64
	entries map[crdt.RowName]crdt.Entry

	disk, oldDisk map[crdt.RowName]*crdt.Row

	buried bool // gone for good

	// up is its view of the members; away, since when a member has not been
	// reachable.
	up   map[string]bool
	away map[string]time.Duration

	// What its core was last seen to hold: it must not fall.
	seen    map[rowReplica]crdt.Entry
	changes uint64
}

type rowReplica struct {
	row     crdt.RowName
	replica crdt.Replica
}

func newNode(w *world, name, region string) *node {
	return &node{
		name: name, region: region, w: w,
		disk: map[crdt.RowName]*crdt.Row{}, oldDisk: map[crdt.RowName]*crdt.Row{},
	}
}

// start starts a process: it loads its disk and then finds members.
func (w *world) start(n *node) {
	n.life++
	n.clock = w.between(0, 1000*time.Second)
	n.skew = w.rand.Int64N(11) - 5
	n.own, n.entries = w.rand.Uint64(), map[crdt.RowName]crdt.Entry{}
	n.up, n.away = map[string]bool{}, map[string]time.Duration{}
	n.seen, n.changes = map[rowReplica]crdt.Entry{}, 0
	n.core = gossip.NewCore(gossip.CoreConfig{
		Node: n.name, Region: n.region, Regions: w.regions, MaxRows: 100,
		Rand: rand.New(rand.NewPCG(w.rand.Uint64(), w.rand.Uint64())), NowUnix: n.unix(),
	})
	for _, name := range w.rows {
		if row := n.disk[name]; row != nil {
			for _, e := range row.Entries() {
				_, _ = n.core.Restore(name.ID(), name, e) // ended rows are refused
			}
		}
	}
	w.checkNode(n)
}

func (n *node) now() time.Duration { return n.w.now + n.clock }

func (n *node) unix() int64 { return baseUnix + int64(n.w.now/time.Second) + n.skew }

func (w *world) tick(n *node) {
	if n.core == nil {
		return
	}
	n.core.Tick(n.now(), n.unix())
	for more := true; more; {
		var m gossip.Message
		if m, more = n.core.Next(n.now()); !m.IsZero() {
			w.net.send(n, m)
		}
	}
	w.checkAges(n)
}

// step takes in a frame.
func (n *node) step(frame []byte) error {
	in := gossip.Decode(frame)
	for {
		if more, err := n.core.Step(n.now(), in); !more {
			return err
		}
	}
}

// save writes what changed to the disk; now and then the write fails.
func (n *node) save() {
	if n.core == nil {
		return
	}
	rows := n.core.TakeUnsaved(3)
	if n.w.chance(0.1) {
		for _, r := range rows {
			n.core.MarkUnsaved(r.Name().ID())
		}
		return
	}
	if n.w.chance(0.3) {
		n.oldDisk = map[crdt.RowName]*crdt.Row{}
		for name, r := range n.disk {
			n.oldDisk[name] = r
		}
	}
	for _, r := range rows {
		n.disk[r.Name()] = r
	}
}

// membership is the verdicts of the membership protocol, which come late and
// are sometimes wrong.
func (w *world) membership(n *node) {
	if n.core == nil {
		return
	}
	for _, m := range w.nodes {
		if m == n {
			continue
		}
		reachable := m.core != nil && w.net.connected(n, m) && w.net.connected(m, n)
		switch {
		case reachable && !n.up[m.name]:
			n.setUp(m, true)
		case reachable:
			delete(n.away, m.name)
			if !w.calming && w.chance(0.003) {
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
		n.core.PeerUp(gossip.Peer{Name: m.name, Region: m.region})
	} else {
		n.core.PeerDown(m.name)
	}
}

// crash ends the process; its disk keeps everything saved, an older state, or
// nothing.
func (w *world) crash(n *node) {
	n.core = nil
	switch fate := w.rand.IntN(3); fate {
	case 0:
		w.note("  %s died, disk kept", n.name)
	case 1:
		w.note("  %s died, disk set back", n.name)
		n.disk = n.oldDisk
	default:
		w.note("  %s died, disk lost", n.name)
		n.disk = map[crdt.RowName]*crdt.Row{}
	}
	n.oldDisk = map[crdt.RowName]*crdt.Row{}
	w.forget()
}
