package sim

import (
	"weir/crdt"
	"weir/limiter/quota"
	"weir/limiter/store"
)

// maxReceipts bounds the receipts that clients keep.
const maxReceipts = 64

// receipt is what a client got for an allowed check.
type receipt struct {
	region  *region
	reign   uint64
	row     crdt.RowName
	request quota.RequestID
	cost    int64
}

// check is a client that asks a node, and sometimes brings a receipt.
func (w *world) check() {
	if w.healing {
		return
	}
	w.at(w.checkGap(), "check", w.check)
	n := w.nodes[w.rand.IntN(len(w.nodes))]
	if w.plan.Hot >= 0 && w.chance(0.7) {
		hot := w.regions[w.plan.Hot]
		n = hot.nodes[w.rand.IntN(len(hot.nodes))]
	}
	if w.plan.Sticky {
		n = w.favour(n)
	}
	r := &w.plan.Rules[w.rand.IntN(len(w.plan.Rules))]
	cost := int64(1)
	if w.chance(0.2) {
		cost = 1 + w.rand.Int64N(5)
	}
	if w.chance(0.02) {
		cost = 1 + w.rand.Int64N(20)
	}
	if !n.runs() || !n.ready() {
		w.report.Unserved++
		return
	}
	n.check(r, cost)
	if w.plan.Refunds && w.chance(0.1) {
		w.bringReceipt()
	}
}

// favour sends most clients of a region to one of its nodes, for a while.
func (w *world) favour(n *node) *node {
	r := n.region
	if r.favourite == nil || w.chance(0.01) {
		r.favourite = n
	}
	if w.chance(0.05) {
		return n
	}
	return r.favourite
}

// check decides one check, in the manner of the engine.
func (n *node) check(r *quotaRule, cost int64) {
	row := r.row(n.unix(), 0)
	n.warm(row, r)
	switch {
	case n.spend(row, cost):
	case n.reign == 0:
		n.decideAlone(r, cost)
	default:
		n.ask(r, cost, n.unix(), 0)
	}
}

// view makes a row's question in the present reign.
func (n *node) view(r *quotaRule, unix int64) (q store.QuotaRow, counted bool) {
	q = store.QuotaRow{Row: storeName(r.row(unix, 0)), Limit: r.limit, Total: r.total, Reign: store.Reign(n.reign)}
	counted = n.ledger.View(&q)
	return q, counted
}

// maxAsks is how often one check asks.
const maxAsks = 3

func (n *node) ask(r *quotaRule, cost, unix int64, asked int) {
	q, counted := n.view(r, unix)
	if !counted {
		n.w.violate("refused", "%s cannot count %s", n.name, r.key)
		return
	}
	t := &store.QuotaTake{QuotaRow: q, Cost: cost}
	t.Mark = n.ledger.Mark(&t.QuotaRow)
	c := n.newCall(&t.QuotaRow)
	lost := func() {
		n.owe(&debt{row: t.QuotaRow, id: c.request})
		n.decideAlone(r, cost)
	}
	n.send(c, "take", func() { c.status = c.server.take(c, t) }, func() {
		again := asked+1 < maxAsks
		n.learnAcked(c.acked)
		switch c.status {
		case statusAllowed, statusDenied:
			n.decided(c, t, lost)
		case statusWrongPeriod:
			if again {
				n.ask(r, cost, c.storeUs/1_000_000, asked+1)
			}
		case statusWrongSplit:
			if again {
				n.ask(r, cost, unix, asked+1)
			}
		default:
			if n.reign == c.reign {
				n.leaveReign()
				n.lookAfterStore()
			}
			n.decideAlone(r, cost)
		}
	}, lost)
}

// decided takes in what the store said and tells the client, unless the answer
// is not to be believed.
func (n *node) decided(c *call, t *store.QuotaTake, lost func()) {
	believed := n.ledger.Record(&t.QuotaRow)
	if t.Outcome == quota.NoRights {
		n.ledger.Refused(&t.QuotaRow)
	}
	if !believed {
		n.w.report.Disbelieved++
		lost()
		return
	}
	name := rowNameOf(&t.QuotaRow)
	switch t.Outcome {
	case quota.Fits:
		n.w.report.AllowedByStore++
		n.w.truth.allow(n, name, c.request, t.Cost, c.storeUs)
		n.w.giveReceipt(&receipt{n.region, c.reign, name, c.request, t.Cost})
	case quota.NoRights:
		n.w.report.NoRights++
		n.w.truth.refused(n, name, t.Cost)
		n.runShort(name)
	case quota.Exhausted:
		n.w.report.Exhausted++
	}
}

// decideAlone answers while the store is away, as the rule says.
func (n *node) decideAlone(r *quotaRule, cost int64) {
	n.w.report.StoreAway++
	if n.w.plan.OnFailure != failOpen {
		return
	}
	row := r.row(n.unix(), 0)
	if g := n.core.Generation(row.ID()); g > 0 {
		row.Generation = g
	}
	id := row.ID()
	e := n.alone[id]
	e.Replica = crdt.Replica{Region: n.region.name, Nonce: n.own}
	e.Version++
	e.Taken += cost
	n.alone[id] = e
	n.w.truth.count(row, e)
	if _, err := n.rows.record(id, row, e); err == nil {
		n.w.report.AllowedAlone++
		n.w.truth.allowAlone(n, row, cost)
	}
}

func (w *world) giveReceipt(r *receipt) {
	if !w.plan.Refunds || !w.chance(0.3) {
		return
	}
	if len(w.truth.receipts) < maxReceipts {
		w.truth.receipts = append(w.truth.receipts, r)
		return
	}
	w.truth.receipts[w.rand.IntN(maxReceipts)] = r
}

// bringReceipt is a client that gives back what it had. It may bring a receipt
// again, and to any node: another region passes it on.
func (w *world) bringReceipt() {
	if len(w.truth.receipts) == 0 {
		return
	}
	i := w.rand.IntN(len(w.truth.receipts))
	r := w.truth.receipts[i]
	n := r.region.nodes[w.rand.IntN(len(r.region.nodes))]
	if !n.runs() || n.reign == 0 || (n.reign != r.reign && !w.mutant.ReceiptAnyReign) {
		return
	}
	q := store.QuotaRow{Row: storeName(r.row), Reign: store.Reign(n.reign)}
	if rule := w.rule(r.row); rule != nil {
		q.Limit, q.Total = rule.limit, rule.total
	}
	if !n.ledger.View(&q) || rowNameOf(&q) != r.row {
		return // of another generation: it does nothing
	}
	n.change(&store.Change{QuotaRow: q, Kind: store.Refund, Units: r.cost, Request: r.request}, "refund", nil)
}

// change has the store change a row. done runs when the answer came and may be
// believed; what the row says is taken in at all events.
func (n *node) change(ch *store.Change, what string, done func(c *call, believed bool)) {
	n.sendChange(n.newCall(&ch.QuotaRow), ch, what, done)
}

func (n *node) sendChange(c *call, ch *store.Change, what string, done func(c *call, believed bool)) {
	n.send(c, what, func() { c.status = c.server.change(c, ch) }, func() {
		n.learnAcked(c.acked)
		believed := false
		if c.status == statusAllowed {
			believed = n.ledger.Record(&ch.QuotaRow)
		}
		if done != nil {
			done(c, believed)
		}
	}, func() {
		if done != nil {
			done(c, false)
		}
	})
}

func (w *world) rule(name crdt.RowName) *quotaRule {
	for i := range w.plan.Rules {
		if r := &w.plan.Rules[i]; r.name == name.Rule && r.key == name.Key {
			return r
		}
	}
	return nil
}
