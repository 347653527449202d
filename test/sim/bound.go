package sim

import (
	"weir/crdt"
	"weir/limiter/store"
)

// overdrawn is how many units a region let through or gave beyond what it had:
// its share, what it received, and what operators granted it.
func (g *regionTruth) overdrawn() int64 {
	return g.allowed + g.gifted - g.share - g.received - g.operator
}

// left is how many units a region may still let through.
func (t *truth) left(r *region, rt *rowTruth) int64 {
	g := &rt.regions[r.index]
	return max(t.share(r, rt)-g.share, 0) - g.overdrawn()
}

// excused is how far the faults of the run excuse that a region is overdrawn.
func (g *regionTruth) excused() int64 { return g.missed + g.forked + g.alone }

// check is the bound: no region is overdrawn, and all together let through no
// more than ⌊Q + ε⌋, but for what faults excuse.
func (t *truth) check(rt *rowTruth) {
	var allowed, granted, excused int64
	for i := range rt.regions {
		g := &rt.regions[i]
		over := g.overdrawn()
		g.worst = max(g.worst, over)
		if over > g.excused() {
			t.w.violate("rights", "%s is overdrawn by %d of row %s, and faults excuse %d: it let %d through, gave %d; its share is %d, it received %d and was granted %d",
				t.w.regions[i].name, over, label(rt.name), g.excused(), g.allowed, g.gifted, g.share, g.received, g.operator)
		}
		allowed += g.allowed
		granted += g.operator
		excused += min(max(0, g.worst), g.excused()) + g.excess
	}
	t.w.report.over(rt, allowed-granted)
	if allowed > rt.rule.total+granted+excused {
		t.w.violate("bound", "%d of row %s allowed, Q + ε = %d + %d granted, and faults excuse %d",
			allowed, label(rt.name), rt.rule.total, granted, excused)
	}
}

// spent is called when a store let a caller spend rights of its region. It
// judges the share the caller brought, and what the store was not told.
func (t *truth) spent(c *call, s *redis, r *redisRow, q *store.QuotaRow) {
	rt := t.rows[r.id]
	t.judgeShare(c, rt, q)
	if t.w.plan.losesStores() {
		g := &rt.regions[s.region.index]
		if over := rt.spentBy(s.region) - g.share - g.received; over > g.missed {
			g.missed = max(g.missed, min(over, t.missing(c, s, r, rt)))
		}
	}
}

// spentBy is what all replicas of a region used of its rights, known to anybody
// or not.
func (rt *rowTruth) spentBy(r *region) (units int64) {
	for _, k := range rt.order {
		if k.replica.Region == r.name {
			units += spentBy(countOf(k.last()))
		}
	}
	return units
}

// judgeShare holds that whatever each region knew, all shares of a row sum to no
// more than the whole.
func (t *truth) judgeShare(c *call, rt *rowTruth, q *store.QuotaRow) {
	received := int64(0)
	for _, e := range c.known {
		if e.Replica.Region != c.node.region.name {
			received += e.Gifts.To(c.node.region.name)
		}
	}
	g := &rt.regions[c.node.region.index]
	used := q.Allotted - received
	if used <= g.share {
		return
	}
	if should := t.share(c.node.region, rt); used > should && t.w.plan.losesStores() {
		g.excess = max(g.excess, used-should)
	}
	g.share = used
	t.w.note("  %s takes %d for its share of %s", c.node.name, used, label(rt.name))
	sum, excess := int64(0), int64(0)
	for i := range rt.regions {
		sum += rt.regions[i].share
		excess += rt.regions[i].excess
	}
	if sum > rt.rule.total+excess {
		t.w.violate("split", "%s takes %d for its share of row %s; all take %d of %d",
			c.node.name, used, label(rt.name), sum, rt.rule.total)
	}
}

// missing is what a store that decides was not told of its region's other
// replicas, and is excused for: what only nodes knew that did not answer the
// caller's exchange, with their processes or without.
func (t *truth) missing(c *call, s *redis, r *redisRow, rt *rowTruth) int64 {
	told := map[crdt.Replica]crdt.Entry{}
	for _, e := range r.told {
		told[e.Replica] = e
	}
	sum := int64(0)
	for _, k := range rt.order {
		if k.replica.Region != s.region.name || k.replica.Nonce == r.reign || k.alone {
			continue
		}
		sum += t.missingOf(c, s, rt, k, told[k.replica])
	}
	return sum
}

func (t *truth) missingOf(c *call, s *redis, rt *rowTruth, k *replicaTruth, known crdt.Entry) int64 {
	at := rowReplica{rt.id, k.replica}
	for _, e := range c.known {
		if e.Replica == k.replica {
			known = newest(known, e)
		}
	}
	known = newest(known, c.node.vouched.known[at])
	gone := t.gone(c.node, rt, k.replica)
	units := int64(0)
	if gone.Version > known.Version {
		units = max(0, gone.Net()-known.Net())
	}
	// A gift that only a lost copy of the store held may come back with it.
	given := gone.Gifts.Total()
	if lost := s.region.lost; lost != nil {
		if row := lost.rows[rt.id]; row != nil {
			for _, e := range lost.entries(row) {
				if e.Replica == k.replica {
					given = max(given, e.Gifts.Total())
				}
			}
		}
	}
	return units + max(0, given-known.Gifts.Total())
}

// gone is the newest entry of a replica that was known to nodes which did not
// answer the node's last exchange: to their processes, dead or alive, or on its
// way to them.
func (t *truth) gone(n *node, rt *rowTruth, replica crdt.Replica) crdt.Entry {
	gone := rt.regions[n.region.index].dead[replica]
	for _, m := range n.region.nodes {
		if m.core == nil || (n.vouched.by != nil && n.vouched.by[m] == m.life) {
			continue
		}
		gone = newest(gone, m.knew(rt, replica))
	}
	return gone
}

// knew is what a process knows of a replica, or will with the replies that are
// on their way: those that are late, it must take for lost.
func (m *node) knew(rt *rowTruth, replica crdt.Replica) (e crdt.Entry) {
	late := m.late[rowReplica{rt.id, replica}]
	for _, have := range m.seen[rt.id] {
		if have.Replica == replica && (late == 0 || have.Version < late) {
			e = have
		}
	}
	for _, f := range m.flights {
		if f.flight != nil && f.flight.row == rt.id && f.flight.entry.Replica == replica && m.now() <= f.deadline {
			e = newest(e, f.flight.entry)
		}
	}
	return e
}

func newest(a, b crdt.Entry) crdt.Entry {
	if b.Version > a.Version {
		return b
	}
	return a
}

// died notes what only a process knew.
func (t *truth) died(n *node) {
	for id, entries := range n.seen {
		for _, e := range entries {
			if g := t.regionOf(id, n.region); g != nil && e.Replica.Region == n.region.name {
				g.dead[e.Replica] = newest(g.dead[e.Replica], e)
			}
		}
	}
}

func (t *truth) regionOf(id crdt.RowID, r *region) *regionTruth {
	if rt := t.rows[id]; rt != nil {
		return &rt.regions[r.index]
	}
	return nil
}

// forkedNow notes that a region has a second master: what it had left, both may
// spend.
func (t *truth) forkedNow(r *region) {
	for _, rt := range t.list {
		g := &rt.regions[r.index]
		g.split = true
		g.forked += max(0, t.left(r, rt))
	}
}
