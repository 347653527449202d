package ledger

import (
	"sync"
	"sync/atomic"
	"time"

	"weir/crdt"
)

const (
	// markInterval is how often a want of rights that goes on is told again: what
	// others gave may have gone to smaller costs meanwhile.
	markInterval = 500 * time.Millisecond
	// maxRefusals bounds the rows remembered; those past it are told of with every
	// refusal.
	maxRefusals = 10_000
)

// refusals are the rows that were refused for want of rights, and when that was
// last noted in the row. A row that is let through meanwhile is not forgotten:
// among small costs that pass, a large one may be in want for long.
type refusals struct {
	now  func() time.Duration
	some atomic.Bool // whether there are any: usually not

	mu    sync.Mutex
	rows  map[crdt.RowID]time.Duration
	swept time.Duration
}

func newRefusals(now func() time.Duration) refusals {
	return refusals{now: now, rows: make(map[crdt.RowID]time.Duration)}
}

// due says whether a refusal of a row is to be noted: whether none was in the
// last second.
func (r *refusals) due(id crdt.RowID) bool {
	if !r.some.Load() {
		return true
	}
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.isDue(id, now)
}

func (r *refusals) isDue(id crdt.RowID, now time.Duration) bool {
	at, noted := r.rows[id]
	return !noted || now-at >= markInterval
}

// note notes a refusal that was due.
func (r *refusals) note(id crdt.RowID) {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.isDue(id, now) {
		return
	}
	if len(r.rows) >= maxRefusals || now-r.swept >= 10*markInterval {
		r.sweep(now)
	}
	if len(r.rows) < maxRefusals {
		r.rows[id] = now
	}
	r.some.Store(len(r.rows) > 0)
}

// dropDue forgets rows that are due anyway, so that where none is refused any more
// no check looks for any.
func (r *refusals) dropDue() {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep(now)
	r.some.Store(len(r.rows) > 0)
}

// sweep forgets rows that are due anyway.
func (r *refusals) sweep(now time.Duration) {
	r.swept = now
	for id, at := range r.rows {
		if now-at >= markInterval {
			delete(r.rows, id)
		}
	}
}
