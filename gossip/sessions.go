package gossip

import "time"

// expireSessions notices gaps that stayed open and sessions that stood still.
func (c *Core) expireSessions(now time.Duration) {
	for _, p := range c.peers {
		if p.in.giveUp(now) {
			c.counters.Gaps++
			p.session.want(now)
		}
		if c.pauses(now, p) {
			p.session.movedAt = now
		}
		if p.session.expire(now) {
			c.counters.AskTimeouts++
		}
	}
}

// beginSessions begins the sessions that are due: those of an exchange, for which
// somebody waits, and others as far as the bound allows: those first that waited
// longest, so that peers who do not answer hold up no other.
func (c *Core) beginSessions(now time.Duration) {
	for _, p := range c.peers {
		if p.session.due && p.session.number == 0 && p.awaited(c.region, c.exchanges) {
			c.beginSession(now, p, c.exchanges)
		}
	}
	for c.inSession() < maxSessions {
		var next *peer
		for _, p := range c.peers {
			s := &p.session
			if s.due && s.number == 0 && !c.yields(now, p) && (next == nil || s.movedAt < next.session.movedAt) {
				next = p
			}
		}
		if next == nil {
			return
		}
		c.beginSession(now, next, 0)
	}
}

func (c *Core) beginSession(now time.Duration, p *peer, exchange uint64) {
	p.session.begin(now, c.rand.Uint64()|1, exchange)
	c.urgent = c.urgent || exchange != 0
	c.counters.Asks++
}

// asking says whether a peer's session with this node goes on.
func (p *peer) asking(now time.Duration) bool { return p.asked && now-p.askedAt < turnQuiet }

// yields says whether this node's session with a peer waits for that of the
// peer's, which heals both.
func (c *Core) yields(now time.Duration, p *peer) bool {
	return c.firstSync && p.asking(now) && now-p.session.dueAt < turnPatience
}

// pauses says whether a session that was begun waits for that of the peer's: a
// node that has had none goes first, then the one with the lower name.
func (c *Core) pauses(now time.Duration, p *peer) bool {
	return c.firstSync && p.session.exchange == 0 && p.asking(now) && (p.askedFirst || p.Name < c.node)
}

func (c *Core) inSession() (n int) {
	for _, p := range c.peers {
		if p.session.number != 0 && p.session.exchange == 0 {
			n++
		}
	}
	return n
}

// lookNowAndThen begins a session with some peer at times, against what nobody
// foresaw. A node without room would be told in vain, again and again, of what
// it cannot hold.
func (c *Core) lookNowAndThen(now time.Duration) {
	if now < c.nextLook {
		return
	}
	first := c.nextLook == 0
	c.nextLook = now + sessionInterval/2 + time.Duration(c.rand.Int64N(int64(sessionInterval)))
	if !first && !c.isFull() {
		c.lookAtSome(now)
	}
}

// lookAtSome makes a session due with a peer that can be heard.
func (c *Core) lookAtSome(now time.Duration) {
	for range c.peers {
		if p := c.peers[c.rand.IntN(len(c.peers))]; !p.silent(now) {
			p.session.want(now)
			return
		}
	}
}

// lookForTheSilent begins a session with somebody while a member of the own
// region is silent: others tell it news that it cannot pass on to this node.
func (c *Core) lookForTheSilent(now time.Duration) {
	silent := false
	for _, p := range c.peers {
		if !p.watched {
			p.watched, p.heardAt = true, now
		}
		silent = silent || (p.Region == c.region && p.silent(now))
	}
	if silent && now >= c.nextSilentLook {
		c.nextSilentLook = now + silenceInterval
		c.lookAtSome(now)
	}
}
