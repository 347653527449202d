package gossip

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"weir/crdt"
)

// CoreConfig says what a core is to be.
type CoreConfig struct {
	Node, Region string
	// Regions that share quotas; the own one may be among them.
	Regions []string
	// MaxRows bounds the rows held.
	MaxRows int
	// Diskless says that the node has no disk to make gifts durable on: it tells
	// those that another node of its region tells it.
	Diskless bool
	// Watch keeps what changed for TakeChanged.
	Watch bool
	// Rand chooses peers and numbers; the core is its only user.
	Rand *rand.Rand
	// NowUnix is the time of day in Unix seconds until the first Tick.
	NowUnix int64
}

// Core is the replication protocol of one node. Instants are readings of one
// monotonic clock of the node's. It belongs to one goroutine at a time.
type Core struct {
	node, region string
	rand         *rand.Rand
	process      uint64 // the high half of stream numbers
	streams      uint32 // the low half of the last one
	nowUnix      int64

	rows     *crdt.Table
	maxRows  int
	news     news // to be told to one node of every region
	fresh    fresh
	again    map[string]*news // to be told to another node of a region
	unsaved  changes          // to be persisted
	watch    bool
	diskless bool
	watched  changes // to be looked at, see TakeChanged
	withheld withheld
	changed  uint64
	regions  regions

	peers  []*peer // sorted by name
	byName map[string]*peer
	// Requests of nodes that are no peers here yet: a node that comes back may
	// ask before the membership protocol tells of it.
	early map[string]*request

	splits    splits
	firstSync bool
	// Exchanges begun, and epochs: see BeginExchange.
	exchanges       uint64
	epochs          epochs
	reign           uint64 // of the last exchange begun here
	urgent          bool   // something is to be sent at once
	answerBytesLeft int    // until the next tick
	answer          answer
	repair          repair
	clock           time.Duration // the latest reading that was given
	sweepLeft       int
	turn            int // the peer Next looks at first
	// When sessions are next begun for no reason, and for silent members.
	nextLook, nextSilentLook time.Duration

	counters Counters

	// Room that is used again.
	encoder rowEncoder
	row     crdt.Row
	encoded encodedRows
	spans   []crdt.Span
	leaf    []crdt.LeafRow
	digests [256]uint64
	order   []int
	share   map[string]int
}

// NewCore returns a core without rows and peers.
func NewCore(cfg CoreConfig) *Core {
	return &Core{
		node: cfg.Node, region: cfg.Region,
		rand: cfg.Rand, process: uint64(cfg.Rand.Uint32()|1) << 32,
		nowUnix: cfg.NowUnix,
		rows:    crdt.NewTable(cfg.MaxRows),
		news:    news{changes: newChanges()}, fresh: newFresh(), unsaved: newChanges(), watch: cfg.Watch, diskless: cfg.Diskless, watched: newChanges(), withheld: newWithheld(),
		again:   make(map[string]*news),
		regions: newRegions(cfg.Region, cfg.Regions),
		byName:  make(map[string]*peer),
		early:   make(map[string]*request),
		maxRows: cfg.MaxRows,
		share:   make(map[string]int),
	}
}

// PeerUp adds a peer, or one that came back, and says whether there was room.
// Each side begins a session with the other.
func (c *Core) PeerUp(p Peer) bool {
	if p.Name == c.node || c.byName[p.Name] != nil {
		return c.byName[p.Name] != nil
	}
	if len(c.peers) >= maxPeers || !c.regions.learn(p.Region) {
		c.counters.RefusedPeers++
		return false
	}
	added := &peer{Peer: p, out: c.newStream(), upSince: c.exchanges, owedRows: newChanges(), unknown: newChanges()}
	added.session.want(c.clock)
	c.byName[p.Name] = added
	i, _ := slices.BinarySearchFunc(c.peers, p.Name, func(have *peer, name string) int { return cmp.Compare(have.Name, name) })
	c.peers = slices.Insert(c.peers, i, added)
	c.order = append(c.order, 0)
	if r := c.early[p.Name]; r != nil {
		delete(c.early, p.Name)
		c.hearRequest(c.clock, added, r)
	}
	return true
}

// PeerDown removes a peer. What others told it alone, of all in its region, may
// have gone with it: in its region, this node begins a session with every other
// peer; and wherever it was, this node's new streams tell the rest of its region
// to do so.
func (c *Core) PeerDown(name string) {
	gone := c.byName[name]
	if gone == nil {
		return
	}
	delete(c.byName, name)
	c.peers = slices.DeleteFunc(c.peers, func(p *peer) bool { return p.Name == name })
	c.order = c.order[:len(c.peers)]
	if gone.Region == c.region {
		if gone.awaited(c.region, c.exchanges) {
			c.askAgain()
		}
		for _, p := range c.peers {
			p.session.want(c.clock)
		}
	}
	c.restart(gone.Region)
}

// restart gives every peer of a region a new stream: each begins a session.
func (c *Core) restart(region string) {
	delete(c.again, region)
	for _, p := range c.peers {
		if p.Region == region {
			p.out = c.newStream()
		}
	}
}

func (c *Core) newStream() outStream {
	c.streams++
	return outStream{number: c.process | uint64(c.streams)}
}

// Sent reports that a frame for a peer left this node.
func (c *Core) Sent(to string) {
	if p := c.byName[to]; p != nil {
		p.report()
		p.recovered = true
	}
}

// Undelivered reports that a frame for a peer was dropped or could not be sent.
// The peer gets a new stream of frames, which tells it to begin a session; what
// it was told lately goes to another node of its region, if there is one.
func (c *Core) Undelivered(now time.Duration, to string) {
	c.counters.Undelivered++
	p := c.byName[to]
	if p == nil {
		return
	}
	p.report()
	p.out = c.newStream()
	p.troubled, p.troubleAt, p.recovered = true, now, false
	if p.session.exchange != 0 {
		p.session.end() // somebody waits
		p.session.want(now)
	}
	c.tellAgain(p)
}

// Silence is for how long nothing was heard of a peer, 0 of one that has not been
// looked at yet.
func (c *Core) Silence(now time.Duration, name string) time.Duration {
	p := c.byName[name]
	if p == nil || !p.watched {
		return 0
	}
	return max(now-p.heardAt, 0)
}

// Peers is how many peers there are.
func (c *Core) Peers() int { return len(c.peers) }

// FirstSync says whether a session with some peer came to its end: this node has
// all that the peer had, its splits included.
func (c *Core) FirstSync() bool { return c.firstSync && !c.lacksSplits() }

// Counters returns the counts so far.
func (c *Core) Counters() Counters { return c.counters }

// Step takes in a frame, no more than stepRows of its rows with each call: call
// it until more is false. An error wraps ErrFrame and says that the frame had no
// effect.
func (c *Core) Step(now time.Duration, in *Inbound) (more bool, err error) {
	c.clock = now
	if !in.begun {
		if err := c.begin(now, in); err != nil {
			return false, err
		}
		in.begun = true
	}
	p := c.byName[in.node]
	end := min(in.merged+stepRows, len(in.rows))
	for ; in.merged < end; in.merged++ {
		c.mergeRow(now, p, in, &in.rows[in.merged])
	}
	switch {
	case in.merged < len(in.rows):
		return true, nil
	case p == nil:
		c.hearStranger(in)
		return false, nil
	case c.hearUnknown(p, in), c.hearReply(now, p, in):
		return true, nil
	}
	c.follow(now, p, in)
	return false, nil
}

// hearStranger keeps the request of a node that is no peer here yet.
func (c *Core) hearStranger(in *Inbound) {
	if r := in.request; r != nil && r.ofSpans() && len(c.early) < maxPeers {
		c.early[in.node] = r
	}
	c.hearExchange(in)
}

// hearUnknown takes in, few with each call, which rows a peer has no names of.
func (c *Core) hearUnknown(p *peer, in *Inbound) (more bool) {
	for range min(stepRows, len(in.unknown)) {
		c.owe(p, in.unknown[0])
		in.unknown = in.unknown[1:]
	}
	return len(in.unknown) > 0
}

// begin judges a frame and takes in what it says of regions.
func (c *Core) begin(now time.Duration, in *Inbound) error {
	if in.malformed != nil {
		c.counters.MalformedFrames++
		return in.malformed
	}
	p := c.byName[in.node]
	if in.node == c.node || (p != nil && p.Region != in.region) {
		c.counters.ForeignFrames++
		return fmt.Errorf("%w: from node %q of region %q, which is not so", ErrFrame, in.node, in.region)
	}
	c.counters.FramesReceived++
	c.counters.RowsReceived += uint64(len(in.rows))
	c.counters.BytesReceived += uint64(in.bytes)
	c.counters.RefusedInvalid += uint64(in.invalid)
	c.hear(now, in.heard)
	c.hearSplits(now, p, in)
	return nil
}

// follow keeps up with what a peer's frames say beside rows.
func (c *Core) follow(now time.Duration, p *peer, in *Inbound) {
	p.watched, p.heardAt = true, max(p.heardAt, now)
	if p.in.receive(now, in.stream, in.sequence) {
		c.counters.Gaps++
		p.session.want(now)
	}
	c.hearExchange(in)
	c.hearRequest(now, p, in.request)
}
