package quota

import "slices"

// Row is one quota row as a region's store keeps it: what the current reign's
// replica counted, and the region's earlier replicas. It belongs to one
// goroutine at a time. The script in Redis does the same ([RowLua]).
type Row struct {
	Own     Count
	Earlier []Replica

	// Receipts already refunded. They live as long as the row.
	refunded map[RequestID]struct{}
	// Leases out, by the name of the node that holds them.
	leases map[string]Lease
}

// Replica is what one earlier replica of the region counted.
type Replica struct {
	Nonce uint64
	Count Count
}

// RequestID names one call, so that its charge can be taken back and its
// receipt refunded once.
type RequestID [16]byte

// Merge takes in what an earlier replica counted and says whether it was new.
// Entry by entry: of two that know different parts, no single number says both.
func (r *Row) Merge(nonce uint64, c Count) bool {
	for i := range r.Earlier {
		have := &r.Earlier[i]
		if have.Nonce == nonce {
			before := have.Count
			have.Count = before.Merge(c)
			return have.Count != before
		}
	}
	r.Earlier = append(r.Earlier, Replica{nonce, c})
	return true
}

// Sums is what all the region's replicas did together.
func (r *Row) Sums() Sums {
	s := Sums{Net: r.Own.Net(), Given: r.Own.Gifts.Total(), Granted: r.Own.Granted}
	for i := range r.Earlier {
		c := &r.Earlier[i].Count
		s.Net += c.Net()
		s.Given += c.Gifts.Total()
		s.Granted += c.Granted
	}
	return s
}

// Try says whether cost more units may be taken: within the bounds, and while
// what this reign took can be counted exactly. Units that were given back do not
// make room for that.
func (r *Row) Try(b Bounds, cost int64) Outcome {
	if cost > MaxUnits-r.Own.Taken {
		return Exhausted
	}
	return r.Sums().Try(b, cost)
}

// Charge takes cost units that Try said fit.
func (r *Row) Charge(b Bounds, cost int64) { r.Own = r.Own.Take(cost, r.Sums().Rights(b)) }

// Refuse notes that cost units were refused for want of rights.
func (r *Row) Refuse(cost int64, again bool) { r.Own = r.Own.Refuse(cost, again) }

// Give raises what the region gave to another to target units in all, as far as
// it has rights beyond keep, and returns how many units that moved. The rights
// are gone with the same step: nobody can receive what was not given up.
func (r *Row) Give(b Bounds, to string, target, keep int64) (moved int64) {
	given := r.Own.Gifts.To(to)
	for i := range r.Earlier {
		given += r.Earlier[i].Count.Gifts.To(to)
	}
	moved = max(0, min(target-given, r.Sums().Rights(b)-max(keep, 0)))
	r.Own = r.Own.Give(to, moved)
	return moved
}

// Return gives back units that a receipt or a cancelled call names, no more
// than this reign has outstanding, and returns how many.
func (r *Row) Return(units int64) (returned int64) {
	returned = max(0, min(units, r.Own.Net()))
	r.Own = r.Own.Return(returned)
	return returned
}

// Refund gives back what a receipt names, once; without a receipt every time.
func (r *Row) Refund(receipt RequestID, units int64) (returned int64) {
	if receipt == (RequestID{}) {
		return r.Return(units)
	}
	if _, again := r.refunded[receipt]; again {
		return 0
	}
	if r.refunded == nil {
		r.refunded = make(map[RequestID]struct{})
	}
	r.refunded[receipt] = struct{}{}
	return r.Return(units)
}

// Open writes the entry of a row that nothing was taken of, so that others hear
// of the row.
func (r *Row) Open() {
	if r.Own.Version == 0 {
		r.Own.Version = 1
	}
}

// IsEmpty says whether nothing was ever counted here.
func (r *Row) IsEmpty() bool { return r.Own.Version == 0 && len(r.Earlier) == 0 }

// Clone is a copy that shares nothing with the row.
func (r *Row) Clone() *Row {
	out := &Row{Own: r.Own, Earlier: slices.Clone(r.Earlier)}
	for id := range r.refunded {
		if out.refunded == nil {
			out.refunded = make(map[RequestID]struct{}, len(r.refunded))
		}
		out.refunded[id] = struct{}{}
	}
	for name, lease := range r.leases {
		if out.leases == nil {
			out.leases = make(map[string]Lease, len(r.leases))
		}
		out.leases[name] = lease
	}
	return out
}
