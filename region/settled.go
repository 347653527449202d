package region

import (
	"context"
	"sync/atomic"

	"weir/limiter/store"
)

// settledQueue bounds the rows that wait to be looked at again.
const settledQueue = 4096

// settled takes in rows that the store changed by itself, when it took back what
// calls had charged whose answer was lost. It asks the store again rather than
// believe what it was told then: an exchange may have come between.
type settled struct {
	rows    chan store.QuotaRow
	dropped atomic.Uint64
}

func newSettled() *settled { return &settled{rows: make(chan store.QuotaRow, settledQueue)} }

// note notes a row, without waiting. One that finds no room is read with all
// others in time, as the store's rows are slowly all the time.
func (s *settled) note(q *store.QuotaRow) {
	select {
	case s.rows <- store.QuotaRow{Row: q.Row, Tag: q.Tag, Limit: q.Limit, Total: q.Total}:
	default:
		s.dropped.Add(1)
	}
}

// takeInSettled looks at noted rows until the context ends.
func (n *Node) takeInSettled(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case q := <-n.settled.rows:
			c := store.Change{QuotaRow: q, Kind: store.Open}
			c.Reign = n.store.Reign(c.Tag)
			if !n.ledger.View(&c.QuotaRow) || c.Row.Generation != q.Row.Generation {
				continue // no room, or the row was reset meanwhile
			}
			if n.store.Apply(ctx, []*store.Change{&c}); c.Status == store.Allowed {
				n.ledger.Record(&c.QuotaRow) // what is not believed is read with all others
			}
		}
	}
}
