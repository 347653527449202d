package sim

import (
	"fmt"
	"time"

	"weir/crdt"
	"weir/limiter/quota"
)

// truth is what really happened, told by nobody under test.
type truth struct {
	w    *world
	rows map[crdt.RowID]*rowTruth
	list []*rowTruth // as they came
	// charges are what stores charged and no client was told of yet.
	charges  map[quota.RequestID]*charge
	receipts []*receipt
	refunded map[quota.RequestID]bool
	split    splitView
	counted  time.Duration // when an entry last changed
}

// rowTruth is the truth about a row.
type rowTruth struct {
	name     crdt.RowName
	id       crdt.RowID
	rule     *quotaRule // nil: of no rule
	regions  []regionTruth
	replicas map[crdt.Replica]*replicaTruth
	order    []*replicaTruth // as they came
}

// regionTruth is the truth about one region's part in a row, in units.
type regionTruth struct {
	allowed  int64 // clients were told they have, less what they gave back
	alone    int64 // of that, without the store, under `open`
	operator int64 // what operators granted
	gifted   int64 // what it gave, as far as another region knows of it
	received int64 // what others gave to it, as far
	share    int64 // the most it took for its share
	excess   int64 // how far that is above what it should have been, excused
	worst    int64 // the most it was ever overdrawn
	missed   int64 // what a store was excused for not knowing, at its most
	forked   int64 // what second masters excuse
	split    bool  // it had a second master since the row began
	dead     map[crdt.Replica]crdt.Entry
	unspent  int64 // charged, and no client told
	short    shortage
}

// replicaTruth is the truth about one replica of a row.
type replicaTruth struct {
	replica crdt.Replica
	entries []crdt.Entry // by version − 1
	// must is the newest version that a store, a node or a disk has known ever
	// since it was counted.
	must uint64
	// outside is what other regions know it gave; durable, what a disk of its own
	// region held.
	outside, durable map[string]int64
	alone            bool
}

func (t *replicaTruth) last() crdt.Entry { return t.entries[len(t.entries)-1] }

// charge is units that a store charged and no client was told of.
type charge struct {
	row    *rowTruth
	region *region
	node   *node
	life   int
	reign  uint64
	units  int64
	lease  bool
	// late: the node had given the call up, and may have returned the lease before
	// it was taken. It counts as lost.
	late bool
}

func newTruth(w *world) truth {
	t := truth{w: w, rows: map[crdt.RowID]*rowTruth{}, charges: map[quota.RequestID]*charge{}, refunded: map[quota.RequestID]bool{}}
	return t
}

// row returns the truth about a row, which may be new.
func (t *truth) row(name crdt.RowName) *rowTruth {
	id := name.ID()
	if rt := t.rows[id]; rt != nil {
		return rt
	}
	rt := &rowTruth{name: name, id: id, rule: t.w.rule(name), replicas: map[crdt.Replica]*replicaTruth{}}
	for _, r := range t.w.regions {
		g := regionTruth{dead: map[crdt.Replica]crdt.Entry{}}
		if r.old != nil {
			g.split, g.forked = true, t.share(r, rt)
		}
		rt.regions = append(rt.regions, g)
	}
	t.rows[id] = rt
	t.list = append(t.list, rt)
	return rt
}

// label names a row in traces: its key, and its period and generation if it has
// more than one.
func label(n crdt.RowName) string {
	out := n.Key
	if n.Rule == "short" {
		out += fmt.Sprintf("@%d", n.Start-baseUnix)
	}
	if n.Generation > 0 {
		out += fmt.Sprintf("#%d", n.Generation)
	}
	return out
}

// share is what a region may take for its share, by all that is known anywhere.
func (t *truth) share(r *region, rt *rowTruth) int64 {
	s := t.w.splits(t.split)
	return s.Share(r.name, rt.name.Start, rt.rule.total)
}

// count takes in an entry that was written.
func (t *truth) count(name crdt.RowName, e crdt.Entry) {
	rt := t.row(name)
	k := rt.replicas[e.Replica]
	if k == nil {
		k = &replicaTruth{replica: e.Replica, outside: map[string]int64{}, durable: map[string]int64{}}
		rt.replicas[e.Replica] = k
		rt.order = append(rt.order, k)
	}
	switch n := uint64(len(k.entries)); {
	case e.Version == n+1:
		k.entries = append(k.entries, e)
		k.must = e.Version
		t.counted = t.w.now
	case e.Version == 0 || e.Version > n+1 || k.entries[e.Version-1] != e:
		t.w.violate("writers", "replica %v of row %s has %v, which is not what follows %v", e.Replica, name.Key, e, k.last())
	}
}

// fork notes units that a region with two masters came to have: both may spend
// them.
func (g *regionTruth) fork(units int64) {
	if g.split {
		g.forked += units
	}
}

func (t *truth) charge(c *call, id quota.RequestID, name crdt.RowName, units int64) {
	rt := t.row(name)
	r := c.server.region
	t.charges[id] = &charge{rt, r, c.node, c.life, c.server.marker.nonce, units, id != c.request, c.ended}
	rt.regions[r.index].unspent += units
}

// allow notes that a client was told it has units that were charged under a
// request.
func (t *truth) allow(n *node, name crdt.RowName, id quota.RequestID, units, nowUs int64) {
	c := t.charges[id]
	if c == nil || c.units < units {
		t.w.violate("charged", "%s allowed %d units of %s that no store had charged", n.name, units, name.Key)
		return
	}
	t.discharge(id, units)
	skew := int64(0) // the store's clock decides; a lease is spent by the node's
	if c.lease {
		skew = (t.w.plan.Skew + 3) * 1_000_000
	}
	if nowUs < name.Start*1_000_000-skew || nowUs >= name.End*1_000_000+skew {
		t.w.violate("periods", "%s allowed %d units of %s outside its period", n.name, units, name.Key)
	}
	g := &c.row.regions[n.region.index]
	g.allowed += units
	t.w.report.Allowed += units
	t.w.note("  %s allowed %d of %s: region %d", n.name, units, label(name), g.allowed)
	g.short.end()
	t.check(c.row)
}

func (t *truth) allowAlone(n *node, name crdt.RowName, units int64) {
	rt := t.row(name)
	g := &rt.regions[n.region.index]
	g.allowed += units
	g.alone += units
	t.w.report.Allowed += units
	rt.replicas[crdt.Replica{Region: n.region.name, Nonce: n.own}].alone = true
	t.check(rt)
}

// discharge notes that units that were charged are so no more, or were told of.
func (t *truth) discharge(id quota.RequestID, units int64) {
	c := t.charges[id]
	c.units -= units
	c.row.regions[c.region.index].unspent -= units
	if c.units == 0 {
		delete(t.charges, id)
	}
}

// giveBack notes that a store took back what it had charged.
func (t *truth) giveBack(id quota.RequestID, units int64) {
	if c := t.charges[id]; c != nil && units > 0 {
		t.discharge(id, min(units, c.units))
	}
}

// refund notes that a store took back what a client had. A client has nothing to
// give back twice.
func (t *truth) refund(id quota.RequestID, r *region, name crdt.RowName, units int64) {
	if units == 0 || t.refunded[id] {
		return
	}
	t.refunded[id] = true
	t.w.report.Refunded += units
	g := &t.row(name).regions[r.index]
	g.allowed -= units
	g.fork(units)
}

func (t *truth) grant(r *region, name crdt.RowName, units int64) {
	g := &t.row(name).regions[r.index]
	g.operator += units
	t.w.report.Granted += units
	g.fork(units)
}

func (t *truth) acknowledged(r *region, after int64) {
	if t.split.acked[r.index] == 0 {
		t.split.acked[r.index] = after
	}
}

// durable notes what a disk of a region holds of its gifts.
func (t *truth) durable(r *region, id crdt.RowID, row *crdt.Row) {
	for _, e := range row.Entries() {
		if e.Replica.Region != r.name || e.Gifts == "" {
			continue
		}
		if k := t.rows[id].replicas[e.Replica]; k != nil {
			for to, units := range e.Gifts.All() {
				k.durable[to] = max(k.durable[to], units)
			}
		}
	}
}

// outside notes that a node of another region knows of an entry.
func (t *truth) outside(n *node, id crdt.RowID, e crdt.Entry) {
	rt := t.rows[id]
	if rt == nil || e.Gifts == "" {
		return
	}
	k := rt.replicas[e.Replica]
	if k == nil {
		return
	}
	for to, units := range e.Gifts.All() {
		more := units - k.outside[to]
		if more <= 0 {
			continue
		}
		if units > k.durable[to] {
			t.w.violate("durable", "%s heard that %s gave %d to %s of row %s, which no disk there held: %d",
				n.name, e.Replica.Region, units, to, label(rt.name), k.durable[to])
		}
		k.outside[to] = units
		rt.regions[t.w.regionIndex(e.Replica.Region)].gifted += more
		g := &rt.regions[t.w.regionIndex(to)]
		g.received += more
		g.fork(more)
		t.check(rt)
	}
}
