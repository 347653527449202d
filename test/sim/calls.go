package sim

import (
	"time"

	"weir/crdt"
	"weir/gossip"
	"weir/limiter/quota"
	"weir/limiter/store"
)

// callBudget is how long a node waits for its store.
const callBudget = 50 * time.Millisecond

// call is one call of a node's to its store.
type call struct {
	node     *node
	life     int
	server   *redis
	reign    uint64
	request  quota.RequestID
	named    int64 // the acknowledgement of the next split that it names
	deadline time.Duration
	ended    bool
	leasedIn uint64 // the reign that a lease which is returned was taken in

	// What the script says beside its answer.
	status  status
	storeUs int64
	acked   int64

	// For the checkers: what the node knew of the row, and what of it is on its
	// way in the reply.
	known  []crdt.Entry
	flight *knownEntry
}

// newCall begins a call about a row, if it is about one.
func (n *node) newCall(q *store.QuotaRow) *call {
	c := &call{node: n, life: n.life, server: n.master, reign: n.reign, request: n.w.id(), named: n.named(),
		deadline: n.now() + callBudget}
	if q != nil {
		var row crdt.Row
		if n.core.Row(crdt.RowID(q.ID), &row) {
			c.known = row.Entries()
		}
	}
	return c
}

// send carries a call to the store, where at runs, and back, where answered
// runs. If the call, or its answer, is lost or late, lost runs instead. A timer
// that a stopped process slept through is as late as the answer.
func (n *node) send(c *call, what string, at func(), answered, lost func()) {
	w := n.w
	give := func() {
		if !c.ended {
			c.ended, c.flight = true, nil
			w.note("  %s: no answer to %s", n.name, what)
			lost()
		}
	}
	timeout := func() { n.later(max(0, c.deadline-n.now()), n.name+" waited for "+what, give) }
	if !w.mutant.BelieveLate {
		timeout()
		timeout = func() {}
	}
	n.flights = append(n.flights, c)
	if n.cutFromStore || w.chance(n.storeLoss()) {
		timeout()
		return
	}
	w.at(n.storeDelay(), n.name+" asks to "+what, func() {
		if c.server.down {
			timeout()
			return
		}
		at()
		if n.cutFromStore || w.chance(n.storeLoss()) {
			c.flight = nil
			timeout()
			return
		}
		w.at(n.storeDelay(), n.name+" is answered to "+what, func() {
			n.arrive(c.life, func() {
				switch {
				case c.ended:
				case n.now() > c.deadline && !w.mutant.BelieveLate:
					give()
				default:
					n.noteLate(c)
					c.ended = true
					answered()
					c.flight = nil
				}
			})
		})
	})
}

// noteLate notes what came in a reply that must be taken for lost.
func (n *node) noteLate(c *call) {
	if c.flight != nil && n.now() > c.deadline {
		k := rowReplica{c.flight.row, c.flight.entry.Replica}
		if have := n.late[k]; have == 0 || c.flight.entry.Version < have {
			n.late[k] = c.flight.entry.Version
		}
	}
}

func (n *node) storeLoss() float64 {
	if n.w.calming || n.region.embedded || !n.w.plan.Faults.has(Outages) {
		return 0
	}
	return 0.03
}

func (n *node) storeDelay() time.Duration {
	if n.region.embedded {
		return 0
	}
	d := n.w.between(100*time.Microsecond, 2*time.Millisecond)
	if !n.w.calming {
		d += n.w.between(0, n.w.plan.Slow)
	}
	if slow := n.master.slow; slow > 0 {
		d += n.w.between(0, slow)
	}
	return d
}

// rows is the core as its ledger sees it.
type rows struct {
	n   *node
	row crdt.Row
}

func (r *rows) View(id crdt.RowID, f func(*crdt.Row)) bool {
	if !r.n.core.Row(id, &r.row) {
		return false
	}
	f(&r.row)
	return true
}

func (r *rows) Look(id crdt.RowID, f func(*crdt.Row)) gossip.Known {
	r.View(id, f)
	return r.n.core.Known(id)
}

func (r *rows) Epoch() uint64             { return r.n.core.Epoch() }
func (r *rows) Heard() []gossip.RegionAge { return r.n.core.Heard(r.n.now()) }

func (r *rows) Believes(epoch, reign uint64) bool {
	return r.n.core.Believes(epoch, reign) || r.n.w.mutant.BelieveLate
}

func (r *rows) RecordAt(epoch, reign uint64, id crdt.RowID, name crdt.RowName, e crdt.Entry) (changed, believed bool, err error) {
	if !r.Believes(epoch, reign) {
		return false, false, nil
	}
	changed, err = r.record(id, name, e)
	return changed, true, err
}

func (r *rows) record(id crdt.RowID, name crdt.RowName, e crdt.Entry) (bool, error) {
	if rewrite := r.n.w.mutant.Record; rewrite != nil {
		e = rewrite(e)
	}
	changed, err := r.n.core.Record(id, name, e)
	if err != nil && !r.n.w.dropping(name) {
		r.n.w.violate("refused", "%s: row %s: %v", r.n.name, name.Key, err)
	}
	r.n.look()
	return changed, err
}
