package gossip

import "time"

// An exchange is a session with every other node of the region, begun
// before this node calls its store in a reign that is new to it: what they had
// counted under an earlier reign must be known first. Who begins or answers one
// takes every reply of the store that is still out for lost: so no reply comes
// to be believed after others were told all that this node knew.

// BeginExchange begins a session with every peer of the own region, and returns
// the exchange's number. What Next returns now is to be sent at once.
func (c *Core) BeginExchange(now time.Duration) uint64 {
	c.epoch++
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

// Epoch grows whenever this node begins an exchange or is asked for one.
func (c *Core) Epoch() uint64 { return c.epoch }

// takeUrgent says, once, whether something is to be sent before the next tick.
func (c *Core) takeUrgent() bool {
	urgent := c.urgent
	c.urgent = false
	return urgent
}

// hearExchange notes that a peer began an exchange.
func (c *Core) hearExchange(in *Inbound) {
	if in.request != nil && in.request.exchange && in.region == c.region {
		c.epoch++
		c.urgent = true
	}
}
