package ledger

import (
	"sync"
	"sync/atomic"
	"time"

	"weir/crdt"
)

const (
	// markInterval is how often a want of rights that goes on is told again.
	markInterval = time.Second
	// maxRefusals bounds the rows whose want is remembered; those past it are
	// told of once only.
	maxRefusals = 10_000
)

// refusals are the rows that were last refused for want of rights, and when
// that was last noted in the row.
type refusals struct {
	now  func() time.Duration
	some atomic.Bool // whether there are any: usually not

	mu   sync.Mutex
	rows map[crdt.RowID]time.Duration
}

func newRefusals(now func() time.Duration) refusals {
	return refusals{now: now, rows: make(map[crdt.RowID]time.Duration)}
}

// due says whether the next refusal of a row is to be noted again.
func (r *refusals) due(id crdt.RowID) bool {
	if !r.some.Load() {
		return false
	}
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	at, refused := r.rows[id]
	if !refused || now-at < markInterval {
		return false
	}
	r.rows[id] = now
	return true
}

func (r *refusals) note(id crdt.RowID, refused bool) {
	if !refused && !r.some.Load() {
		return
	}
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !refused {
		delete(r.rows, id)
	} else if _, known := r.rows[id]; !known {
		if len(r.rows) >= maxRefusals {
			r.expire(now)
		}
		if len(r.rows) < maxRefusals {
			r.rows[id] = now
		}
	}
	r.some.Store(len(r.rows) > 0)
}

// expire forgets rows that nobody asked for lately.
func (r *refusals) expire(now time.Duration) {
	for id, at := range r.rows {
		if now-at > 10*markInterval {
			delete(r.rows, id)
		}
	}
}
