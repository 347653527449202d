package limiter

import (
	"slices"
	"time"

	"weir/limiter/quota"
	"weir/limiter/store"
)

// leaseRow is one quota row that this node leases, or waits to. Its shard's lock
// guards it.
type leaseRow struct {
	hash uint64
	// base names the row and its rights, as they were when the lease was taken;
	// Elsewhere as last known.
	base store.QuotaRow

	held lease
	// live: held may be spent. Else the row has no lease, or it is in transit.
	live bool
	// busy: the row is being turned over.
	busy bool
	// asked: the row waits to be looked at.
	asked bool
	// short: a check of the row was refused, so its region needs what is left.
	short bool
	// owed are leases, or attempts to take one, that are to be returned and of
	// which it is not known whether they were. Nothing of them is ever spent.
	owed []owedLease

	used   time.Duration // when it was last spent
	viewed time.Duration // when the ledger was last asked
	waits  time.Duration // until when no lease is taken
	demand demand
}

// lease is what this node holds of a row.
type lease struct {
	id          quota.RequestID
	reign       store.Reign
	generation  uint32
	units, left int64
	// net is what the region had taken of the row, the lease included, when it
	// was taken.
	net int64
}

// owedLease is a lease to be returned.
type owedLease struct {
	lease
	// unsure: the reply to taking it was lost; left is the most it may be.
	unsure bool
}

// names says whether the row is the one asked for, whatever its generation.
func (r *leaseRow) names(q *store.QuotaRow) bool {
	return r.base.Row.Start == q.Row.Start && r.base.Row.End == q.Row.End && r.base.Row.Key == q.Row.Key && r.base.Row.Rule == q.Row.Rule
}

// agrees says whether the row's lease was taken under the rights the rule gives
// now.
func (r *leaseRow) agrees(q *store.QuotaRow) bool {
	return r.base.Limit == q.Limit && r.base.Total == q.Total
}

// covers says whether the lease can pay for a take.
func (r *leaseRow) covers(t *store.QuotaTake) bool {
	return r.live && t.Cost <= r.held.left && r.names(&t.QuotaRow) && r.agrees(&t.QuotaRow)
}

// pay spends the take's cost and answers it as the store would have: what is
// left of the lease counts as taken there, and is not yet.
func (r *leaseRow) pay(t *store.QuotaTake, now time.Duration) {
	r.held.left -= t.Cost
	r.used = now
	r.demand.note(now, t.Cost)
	t.ID, t.Row.Generation, t.Reign = r.base.ID, r.held.generation, r.held.reign
	t.Elsewhere, t.RegionNet = r.base.Elsewhere, r.held.net-r.held.left
	t.Outcome, t.Full = quota.Fits, false
}

// nearlySpent is the part of a lease below which it is exchanged for a new one,
// once a check had to ask the store: one in so many.
const nearlySpent = 8

// spent says whether the lease is to be exchanged: it could not pay for a cost
// that a full one might, or little is left, or the rule changed.
func (r *leaseRow) spent(q *store.QuotaRow, cost int64) bool {
	if !r.agrees(q) || r.held.left*nearlySpent <= r.held.units {
		return true
	}
	return r.held.left < cost && cost <= r.held.units
}

// close ends the lease: it is to be returned.
func (r *leaseRow) close() {
	if r.live {
		r.live = false
		r.owed = append(r.owed, owedLease{lease: r.held})
	}
	r.held = lease{}
}

// settled forgets what is owed of a lease.
func (r *leaseRow) settled(id quota.RequestID) {
	r.owed = slices.DeleteFunc(r.owed, func(o owedLease) bool { return o.id == id })
}

// unspent is how many units are held of the row, those in transit included.
func (r *leaseRow) unspent() (units int64) {
	if r.live {
		units = r.held.left
	}
	for i := range r.owed {
		if !r.owed[i].unsure {
			units += r.owed[i].left
		}
	}
	return units
}
