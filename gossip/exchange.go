package gossip

import (
	"slices"
	"time"
)

// An exchange is a session with every other node of the region, begun
// before this node calls its store in a reign that is new to it: what they had
// counted under an earlier reign must be known first. Who begins or answers one
// takes every reply of the store that is still out for lost, unless it comes from
// the very reign: so no reply comes to be believed, after others were told all
// that this node knew, that they do not find in the store.

// BeginExchange begins a session with every peer of the own region, and returns
// the exchange's number. reign is the one that is to be used, if it is in force
// already; 0 if it is yet to begin. What Next returns now is to be sent at once.
func (c *Core) BeginExchange(now time.Duration, reign uint64) uint64 {
	c.epochs.pass(reign)
	if slices.ContainsFunc(c.peers, func(p *peer) bool { return p.session.exchange != 0 }) && reign != c.reign {
		reign = 0 // two at once: the stricter word for both
	}
	c.reign = reign
	c.exchanges++
	c.counters.Exchanges++
	for _, p := range c.peers {
		if p.Region != c.region {
			continue
		}
		if p.session.exchange == 0 {
			// It began before this and may have passed what changed since.
			p.session.end()
		}
		p.session.want(now)
	}
	c.beginSessions(now)
	c.urgent = true
	return c.exchanges
}

// Unanswered is how many peers have not answered an exchange to the end: of
// those that were up when it began and still are.
func (c *Core) Unanswered(exchange uint64) (n int) {
	for _, p := range c.peers {
		if p.awaited(c.region, exchange) {
			n++
		}
	}
	return n
}

// awaited says whether a peer is to answer an exchange and has not.
func (p *peer) awaited(region string, exchange uint64) bool {
	return p.Region == region && p.upSince < exchange && p.exchanged < exchange
}

// askAgain has those who answered the exchange under way answer once more: a node
// that went without an answer may have told them something since.
func (c *Core) askAgain() {
	for _, p := range c.peers {
		if p.Region == c.region && p.exchanged == c.exchanges {
			p.exchanged--
		}
	}
}

// Epoch grows whenever this node begins an exchange or is asked for one.
func (c *Core) Epoch() uint64 { return c.epochs.now }

// Believes says whether what a store says in a reign may be believed if it was
// asked at an epoch.
func (c *Core) Believes(epoch, reign uint64) bool { return c.epochs.believes(epoch, reign) }

// takeUrgent says, once, whether something is to be sent before the next tick.
func (c *Core) takeUrgent() bool {
	urgent := c.urgent
	c.urgent = false
	return urgent
}

// hearExchange notes that a peer began an exchange.
func (c *Core) hearExchange(in *Inbound) {
	if in.request != nil && in.request.exchange && in.region == c.region {
		c.epochs.pass(in.request.reign)
		c.urgent = true
	}
}
