package crdt

import (
	"cmp"
	"errors"
	"fmt"
)

const (
	// MaxUnits is the largest number an entry may carry, in units: the largest
	// up to which Lua, JSON and float64 count exactly.
	MaxUnits = 1 << 53
	// MaxRegionBytes bounds a region's name.
	MaxRegionBytes = 128
)

// ErrEntry is wrapped by every error that says an entry breaks the rules.
var ErrEntry = errors.New("invalid entry")

// Replica is a single writer of a row: a region's store in one reign, or one
// process of a node while it decides without the store.
type Replica struct {
	Region string
	Nonce  uint64
}

// Compare orders replicas by region, then nonce.
func (r Replica) Compare(s Replica) int {
	return cmp.Or(cmp.Compare(r.Region, s.Region), cmp.Compare(r.Nonce, s.Nonce))
}

// Entry is what one replica counted: units taken (P) and given back (N), and
// what it moved of its region's rights: given to other regions, granted by
// operators. These numbers only grow. Unmet is no count: it is the largest cost
// that the replica refused for want of rights and has not had rights for since;
// 0 is none. All travel and merge as one under one version.
type Entry struct {
	Replica         Replica
	Version         uint64
	Taken, Returned int64
	Granted         int64
	Unmet           int64
	Gifts           Gifts
}

// Net is Taken − Returned, in units.
func (e Entry) Net() int64 { return e.Taken - e.Returned }

// Validate says which rule an entry breaks: the region's name has 1 to
// MaxRegionBytes bytes, the version is at least 1, the numbers lie within
// [0, MaxUnits], gifts go to other regions. The error wraps ErrEntry.
func (e Entry) Validate() error {
	switch {
	case e.Replica.Region == "" || len(e.Replica.Region) > MaxRegionBytes:
		return fmt.Errorf("%w: region has %d bytes, must have 1 to %d", ErrEntry, len(e.Replica.Region), MaxRegionBytes)
	case e.Version == 0:
		return fmt.Errorf("%w: version is 0, must be at least 1", ErrEntry)
	}
	for _, n := range [...]struct {
		name  string
		units int64
	}{{"taken", e.Taken}, {"returned", e.Returned}, {"granted", e.Granted}, {"unmet", e.Unmet}} {
		if n.units < 0 || n.units > MaxUnits {
			return fmt.Errorf("%w: %s is %d, must be 0 to 2^53", ErrEntry, n.name, n.units)
		}
	}
	if e.Gifts == "" {
		return nil
	}
	return e.Gifts.validate(e.Replica.Region)
}

// join is the merge of two entries of one replica. The larger of each number
// at equal versions keeps it a join even where a writer broke the law.
func (e Entry) join(f Entry) Entry {
	switch {
	case f.Version > e.Version:
		return f
	case f.Version == e.Version:
		e.Taken = max(e.Taken, f.Taken)
		e.Returned = max(e.Returned, f.Returned)
		e.Granted = max(e.Granted, f.Granted)
		e.Unmet = max(e.Unmet, f.Unmet)
		e.Gifts = e.Gifts.join(f.Gifts)
	}
	return e
}

// addUnits adds without wrapping round: the sum of a row's entries may pass
// what an int64 holds only if they are forged, and must then not turn small.
func addUnits(a, b int64) int64 {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return 1<<63 - 1
	case a < 0 && b < 0 && sum >= 0:
		return -1 << 63
	}
	return sum
}
