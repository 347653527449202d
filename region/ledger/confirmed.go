package ledger

import (
	"sync"

	"weir/crdt"
	"weir/limiter/store"
)

// confirmed holds, for rows with entries of earlier reigns, which of them the
// store was sent. Most rows have none, so it stays small.
type confirmed struct {
	mu   sync.Mutex
	rows map[crdt.RowID]confirmation
}

// confirmation is what the store holds of a row's earlier replicas: in which
// reign it was sent them, and the sum of their versions, which grows with any.
type confirmation struct {
	reign    store.Reign
	versions uint64
	end      int64 // of the row's period, Unix seconds
}

func newConfirmed() confirmed { return confirmed{rows: make(map[crdt.RowID]confirmation)} }

func (c *confirmed) has(id crdt.RowID, q *store.QuotaRow) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	have, ok := c.rows[id]
	return ok && have.reign == q.Reign && have.versions == versions(q.Earlier)
}

func (c *confirmed) note(id crdt.RowID, q *store.QuotaRow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows[id] = confirmation{reign: q.Reign, versions: versions(q.Earlier), end: q.Row.End}
}

func (c *confirmed) dropEnded(before int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, have := range c.rows {
		if have.end < before {
			delete(c.rows, id)
		}
	}
}

func versions(entries []store.Entry) (sum uint64) {
	for i := range entries {
		sum += entries[i].Version
	}
	return sum
}
