package region

import (
	"sync"

	"weir/crdt"
	"weir/gossip"
	"weir/limiter/store"
)

// ledger joins the engine's quotas to the replicated rows. It implements
// limiter.Ledger.
type ledger struct {
	region string
	mesh   *gossip.Mesh

	// confirmed holds, for rows with entries of earlier reigns, which of them
	// the store was sent. Most rows have none, so it stays small.
	mu        sync.Mutex
	confirmed map[crdt.RowID]confirmation
}

// confirmation is what the store holds of a row's earlier replicas: in which
// reign it was sent them, and the sum of their versions, which grows with any.
type confirmation struct {
	reign    store.Reign
	versions uint64
	end      int64 // of the row's period, Unix seconds
}

func newLedger(region string, mesh *gossip.Mesh) *ledger {
	return &ledger{region: region, mesh: mesh, confirmed: make(map[crdt.RowID]confirmation)}
}

// View implements limiter.Ledger. A row has one name: what the store keeps it
// under is what nodes know it by.
func (l *ledger) View(take *store.QuotaTake) bool {
	name := rowName(take.Row)
	id := name.ID()
	take.ID, take.Elsewhere, take.Earlier = store.ID(id), 0, take.Earlier[:0]
	if name.Validate() != nil {
		return false
	}
	known := l.mesh.View(id, func(row *crdt.Row) {
		take.Elsewhere = row.Elsewhere(l.region)
		var few [4]crdt.Entry // usually none
		for _, e := range row.Earlier(few[:0], l.region, uint64(take.Reign)) {
			take.Earlier = append(take.Earlier, store.Entry{Reign: store.Reign(e.Replica.Nonce),
				Version: e.Version, Taken: e.Taken, Returned: e.Returned})
		}
	})
	if !known && !l.mesh.HasRoom(id) {
		return false
	}
	if len(take.Earlier) > 0 && l.isConfirmed(id, take) {
		take.Earlier = take.Earlier[:0]
	}
	return true
}

func (l *ledger) isConfirmed(id crdt.RowID, take *store.QuotaTake) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.confirmed[id]
	return ok && c.reign == take.Reign && c.versions == versions(take.Earlier)
}

func versions(entries []store.Entry) (sum uint64) {
	for i := range entries {
		sum += entries[i].Version
	}
	return sum
}

// Record implements limiter.Ledger. View has named the take's row. What is
// refused, because room went meanwhile or the period ended, the mesh counts.
func (l *ledger) Record(take *store.QuotaTake) {
	id := crdt.RowID(take.ID)
	if take.Entry.Version > 0 {
		_, _ = l.mesh.RecordRow(id, rowName(take.Row), l.entry(take.Entry)) // see above
	}
	if len(take.Earlier) > 0 {
		l.mu.Lock()
		l.confirmed[id] = confirmation{reign: take.Reign, versions: versions(take.Earlier), end: take.Row.End}
		l.mu.Unlock()
	}
}

// Reconcile takes in rows as the store holds them: what nodes now gone had
// counted and not told.
func (l *ledger) Reconcile(rows []store.Row) (news int) {
	for _, row := range rows {
		name := rowName(row.Name)
		id := name.ID()
		for _, e := range row.Entries {
			if changed, _ := l.mesh.RecordRow(id, name, l.entry(e)); changed { // what is refused, the mesh counts
				news++
			}
		}
	}
	return news
}

// dropEnded forgets what was confirmed of periods that ended before the
// instant.
func (l *ledger) dropEnded(before int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, c := range l.confirmed {
		if c.end < before {
			delete(l.confirmed, id)
		}
	}
}

func (l *ledger) entry(e store.Entry) crdt.Entry {
	return crdt.Entry{Replica: crdt.Replica{Region: l.region, Nonce: uint64(e.Reign)},
		Version: e.Version, Taken: e.Taken, Returned: e.Returned}
}

func rowName(n store.RowName) crdt.RowName {
	return crdt.RowName{Rule: n.Rule, Key: n.Key, Start: n.Start, End: n.End}
}
