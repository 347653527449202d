package ledger

import (
	"sync"

	"weir/crdt"
	"weir/gossip"
	"weir/limiter/store"
)

// view reads what a call must know off a row, under the lock of the rows. Views
// are pooled, so that a check allocates nothing for it.
type view struct {
	l        *Ledger
	q        *store.QuotaRow
	received int64
	read     func(*crdt.Row)
	few      [4]crdt.Entry // room: of earlier reigns there are usually none
}

var views = sync.Pool{New: func() any {
	v := new(view)
	v.read = v.row
	return v
}}

// look names the row, and reads it if it is known.
func (v *view) look(l *Ledger, q *store.QuotaRow, name crdt.RowName) gossip.Known {
	id := name.ID()
	v.l, v.q, v.received = l, q, 0
	q.ID, q.Elsewhere, q.Earlier = store.ID(id), 0, q.Earlier[:0]
	return l.rows.Look(id, v.read)
}

func (v *view) row(row *crdt.Row) {
	q, region := v.q, v.l.region
	q.Elsewhere = row.Elsewhere(region)
	v.received = row.Received(region)
	for _, e := range row.Earlier(v.few[:0], region, uint64(q.Reign)) {
		q.Earlier = append(q.Earlier, entryOf(e))
	}
}
