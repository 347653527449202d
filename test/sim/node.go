package sim

import (
	"math/rand/v2"
	"time"

	"weir/crdt"
	"weir/gossip"
	"weir/region/ledger"
)

// patienceAlone is how long a process waits for a peer to tell it what it
// missed.
const patienceAlone = 5 * time.Second

// node is one process and its disk.
type node struct {
	name   string
	region *region
	w      *world

	core   *gossip.Core // nil while it is down
	ledger *ledger.Ledger
	rows   rows
	life   int
	// The process's clocks: what its monotonic one read at virtual instant 0,
	// and how wrong its time of day is.
	clock   time.Duration
	skew    int64
	started time.Duration
	buried  bool // gone for good

	// A process that stands still does nothing; what comes meanwhile waits.
	paused   bool
	pausedAt time.Duration
	backlog  []func()

	disk, oldDisk map[crdt.RowID]*crdt.Row
	saving        bool
	giftMarks     uint64

	// up is its view of the members; away, since when a member has not been
	// reachable.
	up   map[string]bool
	away map[string]time.Duration

	// The store it talks to, and what it knows of it.
	master       *redis
	cutFromStore bool
	reign        uint64 // that it has exchanged for; 0: none
	busy         bool   // it is finding out about the reign
	exchanging   *exchange
	claimSeen    uint64 // another node's, last
	claimUntil   time.Duration
	reads        int
	flights      []*call // that may be on their way

	leases    map[crdt.RowID]*lease
	heat      map[crdt.RowID]*heat
	unsettled []*debt
	// own is the replica it writes while it decides without the store.
	own   uint64
	alone map[crdt.RowID]crdt.Entry

	giver giver
	split nodeSplit

	// For the checkers: what its core was last seen to hold, and what those who
	// answered its last exchange knew.
	seen    map[crdt.RowID][]crdt.Entry
	changed []crdt.RowID
	row     crdt.Row
	vouched vouched
	// late is the oldest version of each replica that came in a reply which was to
	// be taken for lost.
	late map[rowReplica]uint64
}

type rowReplica struct {
	row     crdt.RowID
	replica crdt.Replica
}

type knownEntry struct {
	row   crdt.RowID
	entry crdt.Entry
}

func newNode(w *world, name string, r *region) *node {
	n := &node{name: name, region: r, w: w}
	n.wipeDisk()
	return n
}

func (n *node) wipeDisk() {
	n.disk, n.oldDisk = map[crdt.RowID]*crdt.Row{}, map[crdt.RowID]*crdt.Row{}
	n.split.disk = splitView{}
}

// start starts a process: it loads its disk and then finds members.
func (w *world) start(n *node) {
	n.life++
	n.clock = w.between(0, 1000*time.Second)
	n.skew = 0
	if w.plan.Skew > 0 {
		n.skew = w.rand.Int64N(2*w.plan.Skew+1) - w.plan.Skew
	}
	n.started = n.now()
	n.up, n.away = map[string]bool{}, map[string]time.Duration{}
	n.master, n.reign, n.busy, n.exchanging, n.flights, n.saving = n.region.store, 0, false, nil, nil, false
	n.leases, n.heat, n.unsettled = map[crdt.RowID]*lease{}, map[crdt.RowID]*heat{}, nil
	n.claimSeen, n.claimUntil, n.reads = 0, 0, 0
	n.own, n.alone = w.nonce(), map[crdt.RowID]crdt.Entry{}
	n.seen, n.vouched, n.late = map[crdt.RowID][]crdt.Entry{}, vouched{}, map[rowReplica]uint64{}
	n.core = gossip.NewCore(gossip.CoreConfig{
		Node: n.name, Region: n.region.name, Regions: w.plan.Regions, MaxRows: 1000, Watch: true,
		Rand: rand.New(rand.NewPCG(w.rand.Uint64(), w.rand.Uint64())), NowUnix: n.unix(),
	})
	n.rows = rows{n: n}
	n.giver, n.giftMarks = newGiver(), 0
	n.loadSplit()
	for _, rt := range w.truth.list {
		if row := n.disk[rt.id]; row != nil {
			for _, e := range row.Entries() {
				_, _ = n.core.Restore(rt.id, rt.name, e) // ended rows are refused
			}
			n.lookAt(rt.id)
		}
	}
	n.look()
}

func (n *node) now() time.Duration { return n.w.now + n.clock }

func (n *node) unix() int64 { return baseUnix + int64(n.w.now/time.Second) + n.skew }

// runs says whether the process does anything.
func (n *node) runs() bool { return n.core != nil && !n.paused }

// ready says whether it knows what it missed, or has waited long enough.
func (n *node) ready() bool { return n.core.FirstSync() || n.now()-n.started > patienceAlone }

// running makes what a process does while it runs.
func (n *node) running(do func()) func() {
	return func() {
		if n.runs() {
			do()
		}
	}
}

// later does something in the same process after a time.
func (n *node) later(after time.Duration, what string, do func()) {
	life := n.life
	n.w.at(after, what, func() { n.arrive(life, do) })
}

// arrive does something in a process, if it still is; where it stands still, as
// soon as it wakes up.
func (n *node) arrive(life int, do func()) {
	switch {
	case n.core == nil || n.life != life:
	case n.paused:
		n.backlog = append(n.backlog, func() { n.arrive(life, do) })
	default:
		do()
	}
}

func (n *node) pause() {
	n.paused, n.pausedAt = true, n.w.now
	n.w.note("  %s stands still", n.name)
}

func (n *node) wake() {
	if !n.paused {
		return
	}
	n.w.note("  %s wakes up", n.name)
	n.paused = false
	n.w.net.worst = max(n.w.net.worst, n.w.now-n.pausedAt+slowest)
	backlog := n.backlog
	n.backlog = nil
	for _, do := range backlog {
		do()
	}
}

func (n *node) tick() {
	n.tellEarly()
	n.core.Tick(n.now(), n.unix())
	n.pump()
	n.giver.look(n)
	n.endLeases()
	n.checkAges()
	if n.core.GiftMarks() != n.giftMarks {
		n.save()
	}
}

// pump sends what is due.
func (n *node) pump() {
	for more := true; more; {
		var m gossip.Message
		if m, more = n.core.Next(n.now()); !m.IsZero() {
			n.w.net.send(n, m)
		}
	}
}

// step takes in a frame.
func (n *node) step(frame []byte) error {
	epoch := n.core.Epoch()
	in := gossip.Decode(frame)
	for {
		more, err := n.core.Step(n.now(), in)
		if more {
			continue
		}
		n.look()
		if n.core.Epoch() != epoch || n.exchanging != nil {
			n.pump()
			n.checkExchange()
		}
		return err
	}
}

// save writes what changed to the disk; now and then the write fails. Others
// are told of gifts once the disk has them.
func (n *node) save() {
	if n.saving {
		return
	}
	n.saving, n.giftMarks = true, n.core.GiftMarks()
	taken := n.core.TakeUnsaved(50)
	view := n.split.view
	n.later(n.w.between(time.Millisecond, 20*time.Millisecond), n.name+" synced", func() {
		n.saving = false
		if !n.w.calming && n.w.plan.Faults.has(Disks) && n.w.chance(0.1) {
			for _, r := range taken {
				n.core.MarkUnsaved(r.Name().ID())
			}
			return
		}
		n.keep(taken)
		n.syncSplit(view)
		n.core.MarkDurable(taken)
	})
}

func (n *node) keep(taken []*crdt.Row) {
	if n.w.chance(0.3) {
		n.oldDisk = map[crdt.RowID]*crdt.Row{}
		for id, r := range n.disk {
			n.oldDisk[id] = r
		}
	}
	for _, r := range taken {
		id := r.Name().ID()
		n.disk[id] = r
		n.w.truth.durable(n.region, id, r)
	}
}

// crash ends the process; its disk keeps everything saved, an older state, or
// nothing.
func (w *world) crash(n *node) {
	w.truth.died(n)
	n.core, n.paused, n.backlog, n.flights = nil, false, nil, nil
	fate := 0
	if w.plan.Faults.has(Disks) {
		fate = w.rand.IntN(3)
	}
	switch fate {
	case 0:
		w.note("  %s died, disk kept", n.name)
	case 1:
		w.note("  %s died, disk set back", n.name)
		n.disk = n.oldDisk
	default:
		w.note("  %s died, disk lost", n.name)
		n.wipeDisk()
	}
	n.oldDisk = map[crdt.RowID]*crdt.Row{}
	n.region.loseEmbedded()
	w.forget()
}
