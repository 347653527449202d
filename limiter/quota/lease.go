package quota

import "time"

const (
	// LeaseShare is the part of what a region has left that a lease may be: one
	// in so many, rounded down.
	LeaseShare = 100
	// LeaseNameWait is how long a node's name waits for another lease after the
	// one before was not returned: its node crashed, and the units count as
	// spent.
	LeaseNameWait = time.Minute
)

// Lease is units that a node took ahead of use. They count as taken until they
// are returned.
type Lease struct {
	ID      RequestID
	Units   int64
	TakenUs int64 // when, on the store's clock, in microseconds since 1970
}

// TakeLease leases up to want units to a node, no more than one in LeaseShare
// of what the region has left. There is one lease a node and row: while one is
// out under the name, another is refused for LeaseNameWait and then taken for
// spent.
func (r *Row) TakeLease(b Bounds, node string, id RequestID, want, nowUs int64) (units int64) {
	out, held := r.leases[node]
	if held && out.ID == id {
		return out.Units // asked again
	}
	if held && nowUs < out.TakenUs+LeaseNameWait.Microseconds() {
		return 0
	}
	units = min(want, r.Sums().Left(b)/LeaseShare, MaxUnits-r.Own.Taken)
	if units <= 0 {
		return 0
	}
	if r.leases == nil {
		r.leases = make(map[string]Lease)
	}
	r.leases[node] = Lease{ID: id, Units: units, TakenUs: nowUs}
	r.Charge(b, units)
	return units
}

// ReturnLease gives back what is left of a lease, by its id, and returns how
// many units that were. A return that is repeated, or of a lease that is not
// out, does nothing.
func (r *Row) ReturnLease(node string, id RequestID, left int64) (returned int64) {
	out, held := r.leases[node]
	if !held || out.ID != id {
		return 0
	}
	delete(r.leases, node)
	return r.Return(min(left, out.Units))
}

// Leased is how many units are out in leases: spent or not, nobody but their
// nodes knows.
func (r *Row) Leased() (units int64) {
	for _, l := range r.leases {
		units += l.Units
	}
	return units
}
