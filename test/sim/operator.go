package sim

import (
	"time"

	"weir/limiter/store"
)

// operate is an operator who grants rights, or resets a row.
func (w *world) operate() {
	if w.healing {
		return
	}
	w.at(w.between(500*time.Millisecond, 4*time.Second), "operator", w.operate)
	n := w.nodes[w.rand.IntN(len(w.nodes))]
	r := &w.plan.Rules[w.rand.IntN(len(w.plan.Rules))]
	if !n.runs() || n.reign == 0 {
		return
	}
	q, counted := n.view(r, n.unix())
	if !counted {
		return
	}
	if w.chance(0.3) {
		n.reset(q, r)
		return
	}
	n.change(&store.Change{QuotaRow: q, Kind: store.Grant, Units: 1 + w.rand.Int64N(r.limit/10)}, "grant", nil)
}

// reset begins a new generation of a row.
func (n *node) reset(q store.QuotaRow, r *quotaRule) {
	name := rowNameOf(&q)
	name.Generation++
	n.w.report.Resets++
	q.Row, q.ID = storeName(name), store.ID(name.ID())
	q.Elsewhere, q.Earlier = 0, nil
	q.Allotted = n.ledger.Share(n.region.name, name.Start, r.total)
	n.change(&store.Change{QuotaRow: q, Kind: store.Open}, "reset", nil)
}
