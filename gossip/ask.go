package gossip

import (
	"time"

	"weir/crdt"
)

// ask is this node's request for all rows of one peer.
type ask struct {
	// The next frame to the peer asks.
	due bool
	// The request being answered; 0 is none. A later loss makes a new one due.
	request uint64
	// The exchange it is made for; 0 is none.
	exchange uint64
	// When the request was made or its answer last moved.
	movedAt time.Duration
	// The parts that came, and how many there are once that is known.
	got   map[uint32]struct{}
	parts uint32
}

// receive notes a part and says whether the answer is now whole.
func (a *ask) receive(now time.Duration, in *Inbound) bool {
	if a.request == 0 || in.answers != a.request {
		return false
	}
	a.movedAt = now
	a.got[in.part] = struct{}{}
	a.parts = max(a.parts, in.parts)
	if a.parts == 0 || len(a.got) < int(a.parts) {
		return false
	}
	a.request, a.exchange, a.got = 0, 0, nil
	return true
}

// expire makes a request due anew whose answer has stood still.
func (a *ask) expire(now time.Duration) bool {
	patience := askPatience
	if a.exchange != 0 {
		patience = exchangePatience
	}
	if a.request == 0 || now-a.movedAt < patience {
		return false
	}
	a.request, a.exchange, a.got, a.due = 0, 0, nil, true
	return true
}

// begin makes the request.
func (a *ask) begin(now time.Duration, request, exchange uint64) {
	*a = ask{request: request, exchange: exchange, movedAt: now, got: make(map[uint32]struct{})}
}

// expireAsks notices gaps that stayed open and answers that stood still.
func (c *Core) expireAsks(now time.Duration) {
	for _, p := range c.peers {
		if p.in.giveUp(now) {
			c.counters.Gaps++
			p.ask.due = true
		}
		if p.ask.expire(now) {
			c.counters.AskTimeouts++
		}
	}
}

// makeAsks makes the requests that are due: those of an exchange, for which
// somebody waits, and others as far as the bound allows: those first that waited
// longest, so that peers who do not answer hold up no other.
func (c *Core) makeAsks(now time.Duration) {
	for _, p := range c.peers {
		if p.ask.due && p.ask.request == 0 && p.awaited(c.region, c.exchanges) {
			c.makeAsk(now, p, c.exchanges)
		}
	}
	for c.asking() < maxAsks {
		var next *peer
		for _, p := range c.peers {
			if p.ask.due && p.ask.request == 0 && (next == nil || p.ask.movedAt < next.ask.movedAt) {
				next = p
			}
		}
		if next == nil {
			return
		}
		c.makeAsk(now, next, 0)
	}
}

func (c *Core) makeAsk(now time.Duration, p *peer, exchange uint64) {
	p.ask.begin(now, c.rand.Uint64()|1, exchange)
	p.asks = true
	c.counters.Asks++
}

func (c *Core) asking() (n int) {
	for _, p := range c.peers {
		if p.ask.request != 0 && p.ask.exchange == 0 {
			n++
		}
	}
	return n
}

// answer is a peer's request for all rows, being answered: a walk round all
// places of the table, from wherever an interrupted one had come to.
type answer struct {
	request uint64 // 0 is none
	// The places there were when it began: rows at later ones are news.
	places uint32
	place  uint32
	left   uint32
	part   uint32
}

// begin starts the walk anew: what went out before the peer asked may be what
// it missed.
func (a *answer) begin(request uint64, places uint32) {
	if a.request == request {
		return
	}
	if a.place >= places {
		a.place = 0
	}
	*a = answer{request: request, places: places, place: a.place, left: places}
}

// part is a part of an answer, being made.
type part struct {
	to      string // empty: none is
	request uint64
	places  int // that may still be looked at
	rows    []byte
	count   int
}

// nextAnswer works at the next part of an answer that may go out before the next
// tick, and says whether there is more to do.
func (c *Core) nextAnswer(now time.Duration) (m Message, more bool) {
	p := c.byName[c.part.to]
	if p == nil || p.answer.request != c.part.request {
		// The peer went, or asked anew: then the walk goes round once more.
		if p = c.nextAnswered(); p == nil {
			c.part = part{}
			return Message{}, false
		}
		c.answersLeft--
		p.answers++
		c.part = part{to: p.Name, request: p.answer.request, places: maxAnswerPlaces}
	}
	if !c.encodePart(&p.answer) {
		return Message{}, true
	}
	return c.sendPart(now, p), true
}

// nextAnswered is the next peer in turn that may get a part.
func (c *Core) nextAnswered() *peer {
	if c.answersLeft == 0 {
		return nil
	}
	return c.nextPeer(func(p *peer) bool {
		return p.answer.request != 0 && p.answers < maxAnswerFrames && p.waiting < maxAnswerFrames
	})
}

func (c *Core) sendPart(now time.Duration, p *peer) Message {
	a := &p.answer
	a.part++
	head := c.frame(now, p)
	head = appendUint(head, frameAllRowsFor, a.request)
	head = appendUint(head, framePart, uint64(a.part))
	if a.left == 0 {
		head = appendUint(head, frameParts, uint64(a.part))
		a.request = 0
		c.counters.Answers++
	}
	rows, count := c.part.rows, c.part.count
	c.part = part{}
	return c.send(now, p, head, rows, count)
}

// entriesFor is what a peer may be told of the row in c.row.
func (c *Core) entriesFor(p *peer) []crdt.Entry {
	if p.Region == c.region || len(c.withheld.rows) == 0 {
		return c.row.Entries()
	}
	return c.withheld.abroad(c.row.Name().ID(), c.row.Entries())
}

// encodePart encodes the rows of the next places, as many as one call may, and
// says whether the part is done.
func (c *Core) encodePart(a *answer) (done bool) {
	t := &c.part
	for looked, encoded := 0, 0; looked < stepPlaces && encoded < stepRows; looked++ {
		if a.left == 0 || t.places == 0 {
			return true
		}
		if c.rows.At(a.place, &c.row) && !c.ended(c.row.Name()) {
			end := len(t.rows)
			t.rows = c.encoder.append(t.rows, c.row.Name(), c.entriesFor(c.byName[t.to]), wholeRow, c.regions.index)
			if len(t.rows) > maxRowsBytes && t.count > 0 {
				t.rows = t.rows[:end]
				return true
			}
			t.count++
			encoded++
		}
		a.place = (a.place + 1) % a.places
		a.left--
		t.places--
	}
	return a.left == 0 || t.places == 0
}

// askForTheSilent asks somebody for all rows while a member of the own region is
// silent: others tell it news that it cannot pass on to this node.
func (c *Core) askForTheSilent(now time.Duration) {
	silent := false
	for _, p := range c.peers {
		if !p.watched {
			p.watched, p.heardAt = true, now
		}
		silent = silent || (p.Region == c.region && p.silent(now))
	}
	if !silent || now < c.nextRelayAsk {
		return
	}
	c.nextRelayAsk = now + silenceInterval
	for range c.peers {
		if p := c.peers[c.rand.IntN(len(c.peers))]; !p.silent(now) {
			p.ask.due = true
			return
		}
	}
}
