package gossip

import "time"

// Peer is another node.
type Peer struct {
	Name, Region string
}

// peer is what the core keeps of another node.
type peer struct {
	Peer

	out outStream
	in  inStream

	session session
	splits  peerSplits
	// Its requests that wait to be answered, and when it last made one.
	requests   []*request
	asked      bool
	askedAt    time.Duration
	askedFirst bool
	// Rows it lacks; rows it told of that have no name here.
	owedRows, unknown changes
	// Rows of its repairs that were new here, and when one last was; whether
	// some were not told as news.
	repaired   int
	repairedAt time.Duration
	untold     bool
	// How many exchanges there had been when the peer came up, and the newest
	// that it answered.
	upSince, exchanged uint64

	sent     bool
	lastSent time.Duration
	// Frames handed out; those neither reported sent nor undelivered.
	handed  uint64
	waiting int
	told    told
	// When a frame last did not reach the peer, if ever, and whether one did
	// since.
	troubled  bool
	troubleAt time.Duration
	recovered bool

	// When the peer was last heard, or first looked at.
	watched bool
	heardAt time.Duration

	// Of the current tick: whether it gets the news, and how many bytes of
	// answers and repairs it got.
	chosen      bool
	answerBytes int
	// News to be sent to it.
	owed *batch
}

func (p *peer) inTrouble(now time.Duration) bool {
	return p.troubled && (!p.recovered || now-p.troubleAt < troublePatience)
}

func (p *peer) silent(now time.Duration) bool { return now-p.heardAt >= silencePatience }

// report notes that it is known what became of a frame.
func (p *peer) report() {
	if p.waiting > 0 {
		p.waiting--
	}
}

func (p *peer) heartbeatDue(now time.Duration) bool {
	return !p.sent || now-p.lastSent >= heartbeatInterval
}

// choose marks the peers that get this tick's news: one of every other region,
// and of the own region the next in the ring of names and others by chance.
// Peers in trouble are passed over where another can stand in.
func (c *Core) choose(now time.Duration) {
	for i, p := range c.peers {
		p.chosen = false
		c.order[i] = i
	}
	c.rand.Shuffle(len(c.order), func(i, j int) { c.order[i], c.order[j] = c.order[j], c.order[i] })
	c.chooseNext(now)
	c.chooseByChance(func(p *peer) bool { return !p.inTrouble(now) })
	c.chooseByChance(func(*peer) bool { return true })
}

// chooseNext marks the node that follows this one in the ring of the region's
// names.
func (c *Core) chooseNext(now time.Duration) {
	var first, next *peer
	for _, p := range c.peers {
		if p.Region != c.region || p.inTrouble(now) {
			continue
		}
		if first == nil {
			first = p
		}
		if next == nil && p.Name > c.node {
			next = p
		}
	}
	if next == nil {
		next = first
	}
	if next != nil {
		next.chosen = true
	}
}

// chooseByChance fills what is missing of each region's share.
func (c *Core) chooseByChance(eligible func(*peer) bool) {
	clear(c.share)
	for _, p := range c.peers {
		if p.chosen {
			c.share[p.Region]++
		}
	}
	for _, i := range c.order {
		p := c.peers[i]
		want := 1
		if p.Region == c.region {
			want = ownRegionPeers
		}
		if !p.chosen && c.share[p.Region] < want && eligible(p) {
			p.chosen = true
			c.share[p.Region]++
		}
	}
}
