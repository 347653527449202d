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
	// Rand chooses peers and numbers; the core is its only user.
	Rand *rand.Rand
	// NowUnix is the time of day in Unix seconds until the first Tick.
	NowUnix int64
}

// Message is a frame for one peer. The frame belongs to the receiver of the
// message.
type Message struct {
	To    string
	Frame []byte
}

// Core is the replication protocol of one node. Instants are readings of one
// monotonic clock of the node's. It belongs to one goroutine at a time.
type Core struct {
	node, region string
	rand         *rand.Rand
	process      uint64 // the high half of stream numbers
	streams      uint32 // the low half of the last one
	nowUnix      int64

	rows    *crdt.Table
	dirty   changes // to be sent
	unsaved changes // to be persisted
	changed uint64
	regions regions

	peers  []*peer // sorted by name
	byName map[string]*peer
	// Requests for all rows of nodes that are no peers here yet: a node that
	// comes back may ask before the membership protocol tells of it.
	early map[string]uint64

	firstSync   bool
	answersLeft int
	answerTurn  int

	counters Counters

	// Room that is used again.
	encoder   rowEncoder
	partRoom  []byte
	deltaRoom [maxDeltaFrames]batch
	order     []int
	share     map[string]int
}

// NewCore returns a core without rows and peers.
func NewCore(cfg CoreConfig) *Core {
	return &Core{
		node: cfg.Node, region: cfg.Region,
		rand: cfg.Rand, process: uint64(cfg.Rand.Uint32()|1) << 32,
		nowUnix: cfg.NowUnix,
		rows:    crdt.NewTable(cfg.MaxRows),
		dirty:   newChanges(), unsaved: newChanges(),
		regions: newRegions(cfg.Region, cfg.Regions),
		byName:  make(map[string]*peer),
		early:   make(map[string]uint64),
		share:   make(map[string]int),
	}
}

// PeerUp adds a peer, or one that came back, and says whether there was room.
// Each side asks the other for all its rows.
func (c *Core) PeerUp(p Peer) bool {
	if p.Name == c.node || c.byName[p.Name] != nil {
		return c.byName[p.Name] != nil
	}
	if len(c.peers) >= maxPeers || !c.regions.learn(p.Region) {
		c.counters.RefusedPeers++
		return false
	}
	added := &peer{Peer: p, out: c.newStream(), ask: ask{due: true}}
	if want := c.early[p.Name]; want != 0 {
		added.answer.begin(want, c.rows.Slots())
		delete(c.early, p.Name)
	}
	c.byName[p.Name] = added
	i, _ := slices.BinarySearchFunc(c.peers, p.Name, func(have *peer, name string) int { return cmp.Compare(have.Name, name) })
	c.peers = slices.Insert(c.peers, i, added)
	c.order = append(c.order, 0)
	return true
}

// PeerDown removes a peer. What others told it alone, of all in its region, may
// have gone with it: in its region, this node asks every other peer for its
// rows; in another, this node's new streams tell the rest of it to ask.
func (c *Core) PeerDown(name string) {
	gone := c.byName[name]
	if gone == nil {
		return
	}
	delete(c.byName, name)
	c.peers = slices.DeleteFunc(c.peers, func(p *peer) bool { return p.Name == name })
	c.order = c.order[:len(c.peers)]
	c.answerTurn = 0
	for _, p := range c.peers {
		switch gone.Region {
		case c.region:
			p.ask.due = true
		case p.Region:
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
	if p := c.byName[to]; p != nil && p.waiting > 0 {
		p.waiting--
	}
}

// Undelivered reports that a message was dropped or could not be sent. The peer
// gets a new stream of frames, which tells it to ask for all rows; its news goes
// to another node of its region.
func (c *Core) Undelivered(now time.Duration, m Message) {
	c.counters.Undelivered++
	p := c.byName[m.To]
	if p == nil {
		return
	}
	c.Sent(m.To)
	p.out = c.newStream()
	p.troubled, p.troubleAt = true, now
	c.tellAnother(now, p.Region, m.Frame)
}

// tellAnother makes a frame's rows news again where a node of the region can be
// told them in another's stead. Where none can, each gets a new stream in turn.
func (c *Core) tellAnother(now time.Duration, region string, frame []byte) {
	if !slices.ContainsFunc(c.peers, func(p *peer) bool { return p.Region == region && !p.inTrouble(now) }) {
		return
	}
	in, err := decode(frame)
	if err != nil || in.answers != 0 {
		return // what was asked for is asked for again
	}
	for i := range in.rows {
		for _, e := range in.rows[i].entries {
			c.dirty.add(in.rows[i].id, e.Replica)
		}
	}
}

// HasRoom says whether the row is held or could be.
func (c *Core) HasRoom(id crdt.RowID) bool { return c.rows.HasRoom(id) }

// FirstSync says whether a peer has answered a request for all rows to the end.
func (c *Core) FirstSync() bool { return c.firstSync }

// Counters returns the counts so far.
func (c *Core) Counters() Counters { return c.counters }

// Step takes in a frame. from is the sender if the transport knows it, else
// empty. An error wraps ErrFrame and says that the frame had no effect.
func (c *Core) Step(now time.Duration, from string, frame []byte) error {
	in, err := decode(frame)
	if err == nil && from != "" && in.node != from {
		err = fmt.Errorf("%w: node is %q, came from %q", ErrFrame, in.node, from)
	}
	if err != nil {
		c.counters.MalformedFrames++
		return err
	}
	return c.apply(now, in)
}

// apply takes in a decoded frame.
func (c *Core) apply(now time.Duration, in *inbound) error {
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
	for i := range in.rows {
		c.mergeRow(&in.rows[i])
	}
	switch {
	case p != nil:
		c.follow(now, p, in)
	case in.want != 0 && len(c.early) < maxPeers:
		c.early[in.node] = in.want
	}
	return nil
}

// follow keeps up with what a peer's frames say beside rows.
func (c *Core) follow(now time.Duration, p *peer, in *inbound) {
	if p.in.receive(now, in.stream, in.sequence) {
		c.counters.Gaps++
		p.ask.due = true
	}
	if p.ask.receive(now, in) {
		c.firstSync = true
	}
	if in.want != 0 {
		p.answer.begin(in.want, c.rows.Slots())
	}
}
