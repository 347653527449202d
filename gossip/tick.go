package gossip

import "time"

// Tick begins what is due; Next does it. nowUnix is the time of day in Unix
// seconds: it says which periods have ended.
func (c *Core) Tick(now time.Duration, nowUnix int64) {
	c.nowUnix, c.clock = nowUnix, now
	c.raiseStamp()
	c.fresh.age(now)
	if c.rows.HasEnded(nowUnix - periodGraceSeconds) {
		c.sweepLeft = sweepPlaces
	}
	c.answerBytesLeft = maxAnswerBytesAll
	c.expireSessions(now)
	c.endRepairs(now)
	c.lookForTheSilent(now)
	c.lookNowAndThen(now)
	c.beginSessions(now)
	c.choose(now)
	for _, p := range c.peers {
		p.answerBytes = 0
		p.told.expire(now-toldMemory, p.handed-uint64(p.waiting))
	}
	c.beginNews()
}

// beginNews allows this tick's news. With nobody to tell there is none: who
// comes later asks for all.
func (c *Core) beginNews() {
	if len(c.peers) == 0 {
		c.news.drop()
	}
	c.news.begin()
	for _, n := range c.again {
		n.begin()
	}
}

// Next does a small piece of what is due, so that a caller with a lock can let
// others in between. It may return a message to send; call it until more is
// false.
func (c *Core) Next(now time.Duration) (m Message, more bool) {
	if p := c.nextPeer(func(p *peer) bool { return p.owed != nil }); p != nil {
		b := p.owed
		p.owed = nil
		m := c.newsFrame(now, p, b)
		p.told.add(toldBatch{b.ids, now, p.handed})
		return m, true
	}
	if c.stepNews(now) {
		return Message{}, true
	}
	if p := c.nextPeer(func(p *peer) bool { return p.heartbeatDue(now) }); p != nil {
		return c.newsFrame(now, p, &batch{}), true
	}
	for _, next := range [...]func(time.Duration) (Message, bool){c.nextSplits, c.nextUnknown, c.nextRequest, c.nextAnswer, c.nextRepair} {
		if m, more := next(now); more {
			return m, true
		}
	}
	return Message{}, c.sweep()
}

// nextPeer is the next in turn of which something is so.
func (c *Core) nextPeer(is func(*peer) bool) *peer {
	for range c.peers {
		c.turn = (c.turn + 1) % len(c.peers)
		if p := c.peers[c.turn]; is(p) {
			return p
		}
	}
	return nil
}

// sweep drops some of the rows that ended, and says whether there is more to
// look at.
func (c *Core) sweep() bool {
	if c.sweepLeft <= 0 {
		return false
	}
	c.sweepLeft -= stepRows
	c.counters.RowsEnded += uint64(c.rows.DropEnded(c.nowUnix-periodGraceSeconds, stepRows, c.withheld.forget))
	return c.sweepLeft > 0
}

// Farewell says that this node is about to leave: it tells names with all news,
// for nobody can ask it any more.
func (c *Core) Farewell() { c.fresh.all = true }

// Told says whether all news left this node, as far as it has anyone to go to.
func (c *Core) Told(now time.Duration) bool {
	if c.news.len() > 0 || c.news.open != nil {
		return false
	}
	for _, p := range c.peers {
		n := c.again[p.Region]
		again := n != nil && (n.len() > 0 || n.open != nil)
		if p.owed != nil || (!p.inTrouble(now) && (p.waiting > 0 || again)) {
			return false
		}
	}
	return true
}

// Untold is how many rows changed and were not told yet.
func (c *Core) Untold() int { return c.news.len() }

// newsFrame makes a frame of news, or a heartbeat.
func (c *Core) newsFrame(now time.Duration, p *peer, b *batch) Message {
	return c.send(now, p, c.frame(now, p), b.body, len(b.ids))
}

// frame begins a frame to a peer.
func (c *Core) frame(now time.Duration, p *peer) []byte {
	f := make([]byte, 0, 256)
	f = appendUint(f, frameVersion, wireVersion)
	f = appendText(f, frameNode, c.node)
	f = appendText(f, frameRegion, c.region)
	f = appendFixed(f, frameStream, p.out.number)
	f = appendUint(f, frameSequence, p.out.next())
	f = appendFixed(f, frameSplitsDigest, c.splits.digest)
	for i, name := range c.regions.names {
		f = appendText(f, frameRegions, name)
		if age, known := c.age(now, i); known {
			f = appendHeard(f, uint32(i), age, c.regions.heard[i].stamp)
		}
	}
	return f
}

// send counts a frame as handed out.
func (c *Core) send(now time.Duration, p *peer, head, rows []byte, count int) Message {
	p.sent, p.lastSent = true, now
	p.handed++
	p.waiting++
	c.counters.FramesSent++
	c.counters.RowsSent += uint64(count)
	c.counters.BytesSent += uint64(len(head) + len(rows))
	return Message{To: p.Name, head: head, rows: rows}
}
