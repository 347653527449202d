package crdt

import (
	"cmp"
	"fmt"
	"slices"
)

// Splits are the splits that are known, and which regions acknowledged each. A
// change of split is safe however slowly it is heard of:
//
//   - Every region of the old and the new split acknowledges the new one. With
//     that it names the instant from which it opens no period under the old one.
//   - The new split applies to periods that begin after the latest of these
//     instants, the old one to all others. Who knows all acknowledgements knows
//     which.
//   - A region that acknowledged and does not know that all have uses the
//     smaller of its two shares for periods that begin after its own instant.
//   - A region that has not acknowledged uses the old split.
//   - Of splits that should be one and are not, each region uses the smallest of
//     its shares.
//
// So whatever each region knows, the shares of one period sum to no more than
// the total; where regions were told different splits of one version, once they
// know of it. What two nodes know is joined by Merge, in any order and as often
// as it may be. The zero Splits know none.
type Splits struct {
	known []Known // in order of version
}

// MaxSplits is how many versions are kept: the newest. Before one more is made,
// the second oldest must be settled and all periods that began before it over.
const MaxSplits = 8

// NewSplits returns what a peer, a file or a store knows; an error wraps
// ErrSplit and says which rule it breaks. Nothing of known is kept that the
// caller may change.
func NewSplits(known []Known) (Splits, error) {
	var s Splits
	if len(known) > MaxSplits {
		return s, fmt.Errorf("%w: there are %d versions, may be %d", ErrSplit, len(known), MaxSplits)
	}
	for i, k := range known {
		if err := k.validate(); err != nil {
			return Splits{}, err
		}
		if i > 0 && known[i-1].Version >= k.Version {
			return Splits{}, fmt.Errorf("%w: version %d is not after %d", ErrSplit, k.Version, known[i-1].Version)
		}
		ordered := Known{Version: k.Version}
		ordered.join(k)
		s.join(ordered)
	}
	return s, nil
}

// All is what is known, in order of version. It is the caller's.
func (s *Splits) All() []Known {
	out := make([]Known, len(s.known))
	for i, k := range s.known {
		out[i] = k.clone()
	}
	return out
}

// Clone returns a copy that shares nothing that changes.
func (s *Splits) Clone() Splits { return Splits{known: s.All()} }

// Len is how many versions are known.
func (s *Splits) Len() int { return len(s.known) }

// Add takes in a split and says whether it was new. Beside another of its
// version it is a rival.
func (s *Splits) Add(split Split) bool {
	return s.join(Known{Version: split.Version, Rivals: []Split{split}})
}

// Acknowledge takes in a region's acknowledgement of a version that is known,
// and says whether it was new. A region acknowledges once: the first stays.
func (s *Splits) Acknowledge(version uint64, ack Ack) bool {
	i, found := s.find(version)
	if !found || s.Acknowledged(version, ack.Region) {
		return false
	}
	return s.known[i].joinAcks([]Ack{ack})
}

// Acknowledged says whether a region acknowledged a version.
func (s *Splits) Acknowledged(version uint64, region string) bool {
	i, found := s.find(version)
	if !found {
		return false
	}
	_, acked := s.known[i].ackOf(region)
	return acked
}

// Merge takes in what another knows and says whether anything was new.
func (s *Splits) Merge(other *Splits) (changed bool) {
	for _, k := range other.known {
		changed = s.join(k) || changed
	}
	return changed
}

// join takes in what is known of one version.
func (s *Splits) join(k Known) (changed bool) {
	i, found := s.find(k.Version)
	switch {
	case found:
		return s.known[i].join(k)
	case len(s.known) < MaxSplits:
		s.known = slices.Insert(s.known, i, k.clone())
		return true
	case i == 0:
		return false // older than all that are kept
	}
	s.known = slices.Insert(s.known, i, k.clone())
	s.known = slices.Delete(s.known, 0, 1)
	return true
}

// Newest returns the newest split that is known; of rivals, the first.
func (s *Splits) Newest() (Split, bool) {
	if len(s.known) == 0 {
		return Split{}, false
	}
	return s.known[len(s.known)-1].Rivals[0], true
}

// Conflicts are the versions of which there are rivals, in order: regions were
// told different splits and give up part of the total until there is a version
// that all were told alike.
func (s *Splits) Conflicts() (rivals []Known) {
	for _, k := range s.known {
		if k.disputed() {
			rivals = append(rivals, k.clone())
		}
	}
	return rivals
}

// Share is what a region may use of total units in a period that begins at a
// Unix second: the smallest of its shares of the versions that may be in force.
func (s *Splits) Share(region string, start, total int64) int64 {
	if len(s.known) == 0 {
		return 0
	}
	share := s.known[0].share(region, total)
	doubt := false
	for i := 1; i < len(s.known); i++ {
		next, old := &s.known[i], &s.known[i-1]
		own, acked := next.ackOf(region)
		if !acked || start <= own.first {
			return share
		}
		last, all := next.settled(old)
		switch {
		case all && start > last.last && !doubt:
			share = next.share(region, total)
		case all && start <= last.first && !doubt && !old.disputed() && !next.disputed():
			return share
		default:
			doubt = true
			share = min(share, next.share(region, total))
		}
	}
	return share
}

// Digest is equal for equal splits, 0 for none; others have another but for one
// chance in 2^64.
func (s *Splits) Digest() uint64 {
	if len(s.known) == 0 {
		return 0
	}
	h := uint64(len(s.known))
	for _, k := range s.known {
		h = k.hash(h)
	}
	return max(h, 1)
}

func (s *Splits) find(version uint64) (int, bool) {
	return slices.BinarySearchFunc(s.known, version, func(k Known, v uint64) int { return cmp.Compare(k.Version, v) })
}
