package sim

import (
	"time"

	"weir/crdt"
	"weir/limiter/quota"
	"weir/limiter/store"
)

const (
	leaseWant = 10 // units
	leaseIdle = time.Second
	// hotChecks is how many checks of a row within a second make it hot.
	hotChecks = 5
	// debtLife is how long a node tries to settle a call: the store forgets the
	// request's id after a minute.
	debtLife = 55 * time.Second
)

// lease is units a node took ahead of use.
type lease struct {
	id    quota.RequestID
	row   store.QuotaRow
	name  crdt.RowName
	reign uint64
	units int64
	used  time.Duration // last
}

// heat is how often a row was asked for lately.
type heat struct {
	since   time.Duration
	checks  int
	leasing bool
}

// debt is something to settle with the store, within the reign it was in: a call
// to cancel, or a lease to return.
type debt struct {
	row   store.QuotaRow
	id    quota.RequestID
	lease bool
	units int64
	since time.Duration
}

// warm counts a check of a row and leases units of one that is hot.
func (n *node) warm(name crdt.RowName, r *quotaRule) {
	if !n.w.plan.Leases {
		return
	}
	if g := n.core.Generation(name.ID()); g > 0 {
		name.Generation = g
	}
	id := name.ID()
	h := n.heat[id]
	if h == nil {
		h = &heat{}
		n.heat[id] = h
	}
	if n.now()-h.since > time.Second {
		h.since, h.checks = n.now(), 0
	}
	h.checks++
	if h.checks >= hotChecks && !h.leasing && n.leases[id] == nil && n.reign != 0 && !n.owes(id) {
		h.leasing = true
		n.takeLease(r, h)
	}
}

// owes says whether a lease of the row is still to be returned.
func (n *node) owes(id crdt.RowID) bool {
	for _, d := range n.unsettled {
		if d.lease && crdt.RowID(d.row.ID) == id {
			return true
		}
	}
	return false
}

func (n *node) takeLease(r *quotaRule, h *heat) {
	q, counted := n.view(r, n.unix())
	if !counted {
		return
	}
	ch := &store.Change{QuotaRow: q, Kind: store.TakeLease, Units: leaseWant, Node: n.name, Request: n.w.id()}
	reign := n.reign
	n.change(ch, "lease", func(c *call, believed bool) {
		h.leasing = false
		switch {
		case c.status != statusFailed && c.status != statusAllowed:
		case believed && ch.Moved == 0:
		case believed:
			n.w.report.Leases++
			id := crdt.RowID(ch.ID)
			n.leases[id] = &lease{ch.Request, ch.QuotaRow, rowNameOf(&ch.QuotaRow), reign, ch.Moved, n.now()}
		default: // it may be out
			n.owe(&debt{row: ch.QuotaRow, id: ch.Request, lease: true, units: leaseWant})
		}
	})
}

// spend decides a check with a lease.
func (n *node) spend(name crdt.RowName, cost int64) bool {
	if g := n.core.Generation(name.ID()); g > 0 {
		name.Generation = g
	}
	l := n.leases[name.ID()]
	if l == nil || l.units < cost || n.unix() >= l.name.End {
		return false
	}
	l.units -= cost
	l.used = n.now()
	n.w.report.AllowedByLease++
	n.w.truth.allow(n, l.name, l.id, cost, n.unix()*1_000_000)
	if l.units == 0 {
		delete(n.leases, name.ID())
	}
	return true
}

// endLeases returns leases that are idle.
func (n *node) endLeases() {
	for _, rt := range n.w.truth.list {
		l := n.leases[rt.id]
		if l != nil && n.now()-l.used > leaseIdle {
			n.endLease(rt.id, l)
		}
	}
}

// runShort returns the lease of a row of which the region runs short.
func (n *node) runShort(name crdt.RowName) {
	if l := n.leases[name.ID()]; l != nil {
		n.endLease(name.ID(), l)
	}
}

func (n *node) endLease(id crdt.RowID, l *lease) {
	delete(n.leases, id)
	row := l.row
	row.Reign = store.Reign(l.reign)
	n.owe(&debt{row: row, id: l.id, lease: true, units: l.units})
}

// owe keeps what is to be settled with the store.
func (n *node) owe(d *debt) {
	d.since = n.now()
	n.unsettled = append(n.unsettled, d)
}

// settle tries to settle what is owed: the oldest first. What belongs to a reign
// that is over is given up.
func (n *node) settle() {
	kept := n.unsettled[:0]
	for _, d := range n.unsettled {
		goesOn := uint64(d.row.Reign) == n.reign || (n.w.mutant.LeaseAnyReign && d.lease)
		if goesOn && n.now()-d.since < debtLife {
			kept = append(kept, d)
		}
	}
	clear(n.unsettled[len(kept):])
	n.unsettled = kept
	for i := 0; i < min(50, len(kept)); i++ {
		n.pay(kept[i])
	}
}

func (n *node) pay(d *debt) {
	if d.lease {
		ch := &store.Change{QuotaRow: d.row, Kind: store.ReturnLease, Units: d.units, Node: n.name, Request: d.id}
		ch.Reign, ch.Earlier, ch.Epoch = store.Reign(n.reign), nil, n.core.Epoch()
		c := n.newCall(&ch.QuotaRow)
		c.leasedIn = uint64(d.row.Reign)
		n.sendChange(c, ch, "return", func(c *call, _ bool) {
			if c.status == statusAllowed {
				n.paid(d)
			}
		})
		return
	}
	q := d.row
	q.Earlier, q.Epoch = nil, n.core.Epoch()
	c := n.newCall(&q)
	n.send(c, "cancel", func() { c.status = c.server.cancel(c, &q, d.id) }, func() {
		switch c.status {
		case statusAllowed:
			n.ledger.Record(&q)
			n.paid(d)
		case statusDenied:
			n.paid(d)
		default:
		}
	}, func() {})
}

func (n *node) paid(d *debt) {
	for i, have := range n.unsettled {
		if have == d {
			n.unsettled = append(n.unsettled[:i:i], n.unsettled[i+1:]...)
			return
		}
	}
}
