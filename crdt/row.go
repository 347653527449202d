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
