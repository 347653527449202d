package sim

import (
	"time"

	"weir/limiter/store"
)

// exchangeBudget is how long an exchange waits; who has not answered by then
// counts as gone.
const exchangeBudget = time.Second

// claimPatience is how long another's claim is waited for before it is taken for
// left behind, and claimJitter what is added at random.
const (
	claimPatience = 1200 * time.Millisecond
	claimJitter   = 400 * time.Millisecond
)

// exchange is one that a node began and waits for.
type exchange struct {
	number uint64
	until  time.Duration
	begun  []witness
	done   func()
}

// lookAfterStore finds out whether the store is in a reign that this node has
// exchanged for, and does what is due there.
func (n *node) lookAfterStore() {
	if n.busy || !n.ready() {
		return
	}
	n.busy = true
	s := n.master
	var seen marker
	ruling := false
	c := n.newCall(nil)
	n.send(c, "look", func() { seen, ruling = s.marker, s.rules() }, func() {
		n.busy = false
		switch {
		case ruling && seen.nonce == n.reign:
			n.work()
		case ruling:
			n.adopt(seen.nonce)
		case n.waitsFor(seen):
		default:
			n.openReign()
		}
	}, n.free)
}

// waitsFor says whether another node's claim is new enough to wait for it.
func (n *node) waitsFor(seen marker) bool {
	if seen.claim == 0 || seen.run != n.master.run || n.w.mutant.ClaimSkipped {
		return false
	}
	if seen.claim != n.claimSeen {
		n.claimSeen = seen.claim
		n.claimUntil = n.now() + claimPatience + n.w.between(0, claimJitter)
	}
	return n.now() < n.claimUntil
}

// free ends an attempt.
func (n *node) free() { n.busy = false }

// adopt exchanges with the region's nodes and then calls the store in a reign
// that another opened.
func (n *node) adopt(nonce uint64) {
	n.leaveReign()
	n.beginExchange(nonce, func() {
		n.free()
		n.enter(nonce)
	})
}

// openReign claims the store, exchanges, and replaces the claim by a reign.
func (n *node) openReign() {
	n.leaveReign()
	s, claim, claimed := n.master, n.w.nonce(), false
	n.busy = true
	if n.w.mutant.ClaimSkipped {
		n.beginExchange(0, func() { n.replaceClaim(claim) })
		return
	}
	n.send(n.newCall(nil), "claim", func() { claimed = s.claim(claim) }, func() {
		if !claimed {
			n.free()
			return
		}
		n.beginExchange(0, func() { n.replaceClaim(claim) })
	}, n.free)
}

func (n *node) replaceClaim(claim uint64) {
	s, nonce, opened := n.master, n.w.nonce(), false
	if n.w.mutant.ReuseReplica {
		nonce = uint64(7_000_000 + n.region.index)
	}
	c := n.newCall(nil)
	n.send(c, "open", func() { opened = s.open(claim, nonce, c.named) }, func() {
		n.free()
		if opened {
			n.enter(nonce)
		}
	}, n.free)
}

func (n *node) leaveReign() { n.reign = 0 }

// enter begins to call the store in a reign.
func (n *node) enter(nonce uint64) {
	n.w.note("  %s is in reign %x", n.name, nonce)
	n.reign = nonce
	n.readStore()
}

// beginExchange asks the region's nodes for all they know, to use a reign that is
// in force, or 0 for one that is yet to begin; done runs once they have answered,
// or time is up.
func (n *node) beginExchange(reign uint64, done func()) {
	n.busy = true
	if n.w.mutant.Unexchanged {
		n.vouched = n.vouch(n.witnesses(), 0)
		done()
		return
	}
	n.w.report.Exchanges++
	n.exchanging = &exchange{number: n.core.BeginExchange(n.now(), reign), until: n.now() + exchangeBudget,
		begun: n.witnesses(), done: done}
	n.pump()
	e := n.exchanging
	n.later(exchangeBudget, n.name+" has exchanged long enough", func() {
		if n.exchanging == e {
			n.checkExchange()
		}
	})
	n.checkExchange()
}

// checkExchange ends an exchange that is complete or has taken long enough.
func (n *node) checkExchange() {
	e := n.exchanging
	if e == nil {
		return
	}
	unanswered := n.core.Unanswered(e.number)
	if unanswered > 0 && n.now() < e.until {
		return
	}
	n.exchanging = nil
	if unanswered > 0 {
		n.w.report.Unanswered++
		n.w.note("  %s: %d did not answer", n.name, unanswered)
	}
	n.vouched = n.vouch(e.begun, unanswered)
	e.done()
}

// work is what a node does in a reign beside deciding.
func (n *node) work() {
	n.settle()
	n.acknowledge()
	if n.reads++; n.reads%6 == 0 {
		n.readStore()
	}
}

// readStore takes in what the store holds: what nodes now gone had counted and
// not told.
func (n *node) readStore() {
	if n.reign == 0 {
		return
	}
	s, epoch := n.master, n.ledger.Epoch()
	var rows []store.Row
	n.send(n.newCall(nil), "read", func() { rows = s.list() }, func() { n.ledger.Reconcile(epoch, rows) }, func() {})
}
