package gossip

import "time"

// ask is this node's request for all rows of one peer.
type ask struct {
	// The next frame to the peer asks.
	due bool
	// The request being answered; 0 is none. A later loss makes a new one due.
	request uint64
	// When the request was made or its answer last moved.
	movedAt time.Duration
	// The parts that came, and how many there are once that is known.
	got   map[uint32]struct{}
	parts uint32
}

// receive notes a part and says whether the answer is now whole.
func (a *ask) receive(now time.Duration, in *inbound) bool {
	if a.request == 0 || in.answers != a.request {
		return false
	}
	a.movedAt = now
	a.got[in.part] = struct{}{}
	a.parts = max(a.parts, in.parts)
	if a.parts == 0 || len(a.got) < int(a.parts) {
		return false
	}
	a.request, a.got = 0, nil
	return true
}

// expire makes a request due anew whose answer has stood still.
func (a *ask) expire(now time.Duration) bool {
	if a.request == 0 || now-a.movedAt < askPatience {
		return false
	}
	a.request, a.got, a.due = 0, nil, true
	return true
}

// begin makes the request.
func (a *ask) begin(now time.Duration, request uint64) {
	*a = ask{request: request, movedAt: now, got: make(map[uint32]struct{})}
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

// makeAsks makes the requests that are due, as far as the bound allows: those
// first that waited longest, so that peers who do not answer hold up no other.
func (c *Core) makeAsks(now time.Duration) {
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
		next.ask.begin(now, c.rand.Uint64()|1)
		next.asks = true
		c.counters.Asks++
	}
}

func (c *Core) asking() (n int) {
	for _, p := range c.peers {
		if p.ask.request != 0 {
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

// NextAnswer returns the next part of an answer that may go out before the
// next tick; call it until ok is false. Each call encodes at most one frame, so
// that a caller with a lock can let others in between.
func (c *Core) NextAnswer(now time.Duration) (m Message, ok bool) {
	if c.answersLeft == 0 {
		return Message{}, false
	}
	for range c.peers {
		c.answerTurn = (c.answerTurn + 1) % len(c.peers)
		p := c.peers[c.answerTurn]
		if p.answer.request != 0 && p.answers < maxAnswerFrames && p.waiting < maxAnswerFrames {
			c.answersLeft--
			p.answers++
			return c.answerPart(now, p), true
		}
	}
	return Message{}, false
}

func (c *Core) answerPart(now time.Duration, p *peer) Message {
	a := &p.answer
	rows, count := c.partRows(a)
	a.part++
	f := c.frame(now, p, len(rows))
	f = appendUint(f, frameAllRowsFor, a.request)
	f = appendUint(f, framePart, uint64(a.part))
	if a.left == 0 {
		f = appendUint(f, frameParts, uint64(a.part))
		a.request = 0
		c.counters.Answers++
	}
	return c.send(now, p, append(f, rows...), count)
}

// partRows encodes the rows of the next places.
func (c *Core) partRows(a *answer) (rows []byte, count int) {
	rows = c.partRoom[:0]
	for range maxAnswerPlaces {
		if a.left == 0 {
			break
		}
		if c.rows.At(a.place, &c.encoder.row) && !c.ended(c.encoder.row.Name()) {
			end := len(rows)
			rows = c.encoder.append(rows, wholeRow, c.regions.index)
			if len(rows) > maxRowsBytes && count > 0 {
				rows = rows[:end]
				break
			}
			count++
		}
		a.place = (a.place + 1) % a.places
		a.left--
	}
	c.partRoom = rows
	return rows, count
}
