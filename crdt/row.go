package crdt

import "slices"

// Row is the replicated state of one quota key in one period and generation.
// The zero Row is empty, without a name, and ready to be read into. A Row is a
// value of its owner: it shares nothing with the table it was read from.
type Row struct {
	name    RowName
	entries []Entry // sorted by replica, each replica once
}

// NewRow returns the empty row of that name.
func NewRow(name RowName) *Row { return &Row{name: name} }

// Name names the row.
func (r *Row) Name() RowName { return r.name }

// Merge merges what one replica counted and says whether anything was new.
// It does not judge the entry: see Entry.Validate.
func (r *Row) Merge(e Entry) bool {
	i, found := slices.BinarySearchFunc(r.entries, e.Replica, func(have Entry, want Replica) int {
		return have.Replica.Compare(want)
	})
	if !found {
		r.entries = slices.Insert(r.entries, i, e)
		return true
	}
	joined := r.entries[i].join(e)
	changed := joined != r.entries[i]
	r.entries[i] = joined
	return changed
}

// Entries returns the entries in order of replica. They are the row's own:
// read, do not write; they stand until the row next changes.
func (r *Row) Entries() []Entry { return r.entries }

// hadGifts returns what a replica gave in the row that was read into this one
// before, as long as its entry is not yet overwritten: for that it is moved to
// where the next entry goes.
func (r *Row) hadGifts(replica Replica) Gifts {
	n, had := len(r.entries), r.entries[:cap(r.entries)]
	for i := n; i < len(had); i++ {
		if had[i].Replica == replica {
			had[n], had[i] = had[i], had[n]
			return had[n].Gifts
		}
	}
	return ""
}

// Entry returns what one replica counted.
func (r *Row) Entry(replica Replica) (Entry, bool) {
	for _, e := range r.entries {
		if e.Replica == replica {
			return e, true
		}
	}
	return Entry{}, false
}

// Value is ΣP − ΣN over all replicas, in units.
func (r *Row) Value() int64 {
	var sum int64
	for _, e := range r.entries {
		sum = addUnits(sum, e.Net())
	}
	return sum
}

// Region returns the units one region took and gave back over all replicas it
// ever had.
func (r *Row) Region(region string) (taken, returned int64) {
	for _, e := range r.entries {
		if e.Replica.Region == region {
			taken = addUnits(taken, e.Taken)
			returned = addUnits(returned, e.Returned)
		}
	}
	return taken, returned
}

// Received is what all other regions have given to this one, as far as is known
// here, in units.
func (r *Row) Received(region string) (sum int64) {
	for _, e := range r.entries {
		if e.Replica.Region != region {
			sum = addUnits(sum, e.Gifts.To(region))
		}
	}
	return sum
}

// Given is what one region has given to another over all replicas it ever had,
// in units.
func (r *Row) Given(from, to string) (sum int64) {
	for _, e := range r.entries {
		if e.Replica.Region == from {
			sum = addUnits(sum, e.Gifts.To(to))
		}
	}
	return sum
}

// Rights is how many units a region may still let through by itself, as far as
// is known here: its share and what it was granted and has received, less what
// it gave and took on balance, over all replicas it ever had. It may be below 0
// where a receiver's spending is known before the gift.
func (r *Row) Rights(region string, share int64) int64 {
	sum := addUnits(share, r.Received(region))
	for _, e := range r.entries {
		if e.Replica.Region == region {
			sum = addUnits(sum, e.Granted)
			sum = addUnits(sum, -e.Gifts.Total())
			sum = addUnits(sum, -e.Net())
		}
	}
	return sum
}

// Unmet is the largest cost that a region refused for want of rights and has
// not had rights for since, in units; 0 is none.
func (r *Row) Unmet(region string) (most int64) {
	for _, e := range r.entries {
		if e.Replica.Region == region {
			most = max(most, e.Unmet)
		}
	}
	return most
}

// Elsewhere is the net of what all other regions took, in units.
func (r *Row) Elsewhere(region string) int64 {
	var sum int64
	for _, e := range r.entries {
		if e.Replica.Region != region {
			sum = addUnits(sum, e.Net())
		}
	}
	return sum
}

// Earlier appends to dst the entries of a region's replicas other than the one
// with this nonce: what a store in that reign must be told about.
func (r *Row) Earlier(dst []Entry, region string, nonce uint64) []Entry {
	for _, e := range r.entries {
		if e.Replica.Region == region && e.Replica.Nonce != nonce {
			dst = append(dst, e)
		}
	}
	return dst
}
