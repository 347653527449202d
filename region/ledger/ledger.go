package ledger

import (
	"time"

	"weir/crdt"
	"weir/gossip"
	"weir/limiter/quota"
	"weir/limiter/store"
)

// Rows are the replicated rows as this node knows them: a gossip.Mesh, or in
// the simulator its core.
type Rows interface {
	// View calls f with the row, if it is known, and says whether it is.
	View(id crdt.RowID, f func(*crdt.Row)) bool
	// Look is View, and says all else that a call must know.
	Look(id crdt.RowID, f func(*crdt.Row)) gossip.Known
	// Epoch grows whenever this node begins or answers an exchange.
	Epoch() uint64
	// RecordAt takes in what the store said in a reign, asked at an epoch, and says
	// whether it may be believed; if not, nothing was taken in.
	RecordAt(epoch, reign uint64, id crdt.RowID, name crdt.RowName, e crdt.Entry) (changed, believed bool, err error)
	// Believes says whether what the store said may be believed.
	Believes(epoch, reign uint64) bool
	// Heard is the age of the newest state heard of each region.
	Heard() []gossip.RegionAge
}

// Ledger implements limiter.Ledger. Its methods may be called from any
// goroutine, as far as those of its rows may.
type Ledger struct {
	region    string
	rows      Rows
	shares    shares
	confirmed confirmed
	refusals  refusals
}

// New returns a ledger of one region's node. splits says how rights are shared
// out now: others once anything has changed; none before any is known, and then
// nobody has a share. now reads a monotonic clock.
func New(region string, rows Rows, splits func() *crdt.Splits, now func() time.Duration) *Ledger {
	return &Ledger{region: region, rows: rows, shares: newShares(region, splits),
		confirmed: newConfirmed(), refusals: newRefusals(now)}
}

// View implements limiter.Ledger. A row has one name: what the store keeps it
// under is what nodes know it by.
func (l *Ledger) View(q *store.QuotaRow) bool {
	q.Row.Generation = 0
	name := RowName(q.Row)
	if name.Validate() != nil {
		q.ID = store.ID(name.ID())
		return false
	}
	v := views.Get().(*view) //nolint:forcetypeassert // the pool holds nothing else
	known := v.look(l, q, name)
	if g := known.Generation; g > 0 {
		q.Row.Generation, name.Generation = g, g
		epoch := known.Epoch
		known = v.look(l, q, name)
		known.Epoch = epoch
	}
	received := v.received
	v.l, v.q = nil, nil
	views.Put(v)
	q.Epoch = known.Epoch
	if !known.HasRoom {
		return false
	}
	q.Allotted = l.allotted(q, received)
	if len(q.Earlier) > 0 && l.confirmed.has(crdt.RowID(q.ID), q) {
		q.Earlier = q.Earlier[:0]
	}
	return true
}

// allotted is what the region was ever allotted of a row's rights, as far as is
// known.
func (l *Ledger) allotted(q *store.QuotaRow, received int64) int64 {
	if q.Total >= quota.Unbounded {
		return quota.Unbounded
	}
	return min(l.Share(l.region, q.Row.Start, q.Total)+received, quota.MaxUnits-1)
}

// Share is what a region may use of total rights in a period that begins at a
// Unix second, without gifts.
func (l *Ledger) Share(region string, start, total int64) int64 {
	return l.shares.of(region, start, total)
}

// Mark says whether a refusal of the row for want of rights is to be noted.
func (l *Ledger) Mark(q *store.QuotaRow) bool { return l.refusals.due(crdt.RowID(q.ID)) }

// Record implements limiter.Ledger. View has named the row. What is refused,
// because room went meanwhile or the period ended, is counted with the rows.
func (l *Ledger) Record(q *store.QuotaRow) (believed bool) {
	id := crdt.RowID(q.ID)
	if q.Entry.Version > 0 {
		_, believed, _ = l.rows.RecordAt(q.Epoch, uint64(q.Reign), id, RowName(q.Row), l.entry(q.Entry)) // see above
	} else {
		believed = l.rows.Believes(q.Epoch, uint64(q.Reign))
	}
	if len(q.Earlier) > 0 {
		l.confirmed.note(id, q)
	}
	return believed
}

// Refused notes that the row was refused for want of rights.
func (l *Ledger) Refused(q *store.QuotaRow) { l.refusals.note(crdt.RowID(q.ID)) }

// Epoch is to be read before the store's rows are, see Reconcile.
func (l *Ledger) Epoch() uint64 { return l.rows.Epoch() }

// Reconcile takes in rows as the store held them at an epoch: what nodes now
// gone had counted and not told. believed is false when an exchange has come
// between: the rows are to be read anew.
func (l *Ledger) Reconcile(epoch uint64, rows []store.Row) (news int, believed bool) {
	for _, row := range rows {
		name := RowName(row.Name)
		id := name.ID()
		for _, e := range row.Entries {
			changed, believed, _ := l.rows.RecordAt(epoch, 0, id, name, l.entry(e)) // what is refused, is counted there
			if !believed {
				return news, false
			}
			if changed {
				news++
			}
		}
	}
	return news, true
}

// DropEnded forgets what was confirmed of periods that ended before a Unix
// second, and refusals of long ago.
func (l *Ledger) DropEnded(before int64) {
	l.confirmed.dropEnded(before)
	l.refusals.dropDue()
}

func (l *Ledger) entry(e store.Entry) crdt.Entry {
	return crdt.Entry{Replica: crdt.Replica{Region: l.region, Nonce: uint64(e.Reign)},
		Version: e.Version, Taken: e.Taken, Returned: e.Returned,
		Granted: e.Granted, Unmet: e.Unmet, Gifts: e.Gifts}
}

func entryOf(e crdt.Entry) store.Entry {
	return store.Entry{Reign: store.Reign(e.Replica.Nonce), Count: quota.Count{
		Version: e.Version, Taken: e.Taken, Returned: e.Returned,
		Granted: e.Granted, Unmet: e.Unmet, Gifts: e.Gifts}}
}

// RowName is how nodes know a row.
func RowName(n store.RowName) crdt.RowName {
	return crdt.RowName{Rule: n.Rule, Key: n.Key, Start: n.Start, End: n.End, Generation: n.Generation}
}
