package crdt

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// MaxWeight bounds the weight of a region.
const MaxWeight = 1_000_000

// ErrSplit is wrapped by every error that says a split breaks the rules.
var ErrSplit = errors.New("invalid split")

// Weight is one region's part in a split; 0 is a region that lives on gifts.
type Weight struct {
	Region string
	Weight uint32
}

// Split says how the rights of every quota are shared out among the regions.
// Splits of one version are the same everywhere.
type Split struct {
	Version uint64
	Weights []Weight // in order of region, each once
}

// NewSplit returns the split of that version; weights may be in any order.
func NewSplit(version uint64, weights []Weight) (Split, error) {
	s := Split{Version: version, Weights: slices.Clone(weights)}
	slices.SortFunc(s.Weights, func(a, b Weight) int { return strings.Compare(a.Region, b.Region) })
	return s, s.Validate()
}

// Validate says which rule a split breaks: the version is at least 1, regions
// are named as those of replicas are, each once and in order, weights are at
// most MaxWeight and not all 0. The error wraps ErrSplit.
func (s Split) Validate() error {
	if s.Version == 0 {
		return fmt.Errorf("%w: version is 0, must be at least 1", ErrSplit)
	}
	var sum uint64
	for i, w := range s.Weights {
		switch {
		case w.Region == "" || len(w.Region) > MaxRegionBytes:
			return fmt.Errorf("%w: region has %d bytes, must have 1 to %d", ErrSplit, len(w.Region), MaxRegionBytes)
		case w.Weight > MaxWeight:
			return fmt.Errorf("%w: weight of %q is %d, may be %d", ErrSplit, w.Region, w.Weight, MaxWeight)
		case i > 0 && s.Weights[i-1].Region >= w.Region:
			return fmt.Errorf("%w: region %q is not after %q", ErrSplit, w.Region, s.Weights[i-1].Region)
		}
		sum += uint64(w.Weight)
	}
	if sum == 0 {
		return fmt.Errorf("%w: all weights are 0, one must be above", ErrSplit)
	}
	return nil
}

// Has says whether the region is part of the split.
func (s Split) Has(region string) bool {
	return slices.ContainsFunc(s.Weights, func(w Weight) bool { return w.Region == region })
}

// Share is what a region gets of total units: its part by weight, rounded down,
// and one unit more where its remainder is among the largest (Hamilton's
// method), in order of name where they are equal. All shares sum to total. A
// region that is not in the split has none.
func (s Split) Share(region string, total int64) int64 {
	var sum uint64
	for _, w := range s.Weights {
		sum += uint64(w.Weight)
	}
	if sum == 0 || total <= 0 {
		return 0
	}
	var share int64
	var mine uint64
	at := -1
	left := total // what rounding down leaves over
	for i, w := range s.Weights {
		whole, remainder := part(total, w.Weight, sum)
		left -= whole
		if w.Region == region {
			share, mine, at = whole, remainder, i
		}
	}
	if at < 0 || mine == 0 {
		return share
	}
	for i, w := range s.Weights {
		if _, r := part(total, w.Weight, sum); r > mine || (r == mine && i < at) {
			left--
		}
	}
	if left > 0 {
		share++
	}
	return share
}

// part is total·weight/sum, rounded down, and the remainder.
func part(total int64, weight uint32, sum uint64) (whole int64, remainder uint64) {
	hi, lo := bits.Mul64(uint64(total), uint64(weight))
	q, r := bits.Div64(hi, lo, sum)
	return int64(q), r
}

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
//
// So whatever each region knows, the shares of one period sum to no more than
// the total. The zero Splits know none.
type Splits struct {
	known []acknowledged // in order of version
}

type acknowledged struct {
	Split
	acks []Ack // in order of region
}

// Ack is a region's acknowledgement of a split: the Unix second after which it
// begins no period under the one before.
type Ack struct {
	Region string
	After  int64
}

// maxSplits is how many splits are kept: a change is begun when the one before
// it is settled.
const maxSplits = 8

// Add takes in a split and says whether it was new. Of a version that is known,
// the one known stays.
func (s *Splits) Add(split Split) bool {
	i, found := s.find(split.Version)
	if found || len(s.known) >= maxSplits {
		return false
	}
	s.known = slices.Insert(s.known, i, acknowledged{Split: split})
	return true
}

// Acknowledge takes in a region's acknowledgement of a version that is known,
// and says whether it was new. A region acknowledges once: the first stays.
func (s *Splits) Acknowledge(version uint64, ack Ack) bool {
	i, found := s.find(version)
	if !found {
		return false
	}
	acks := &s.known[i].acks
	at, acked := slices.BinarySearchFunc(*acks, ack.Region, func(a Ack, region string) int { return strings.Compare(a.Region, region) })
	if acked {
		return false
	}
	*acks = slices.Insert(*acks, at, ack)
	return true
}

// Merge takes in what another knows and says whether anything was new.
func (s *Splits) Merge(other *Splits) (changed bool) {
	for _, k := range other.known {
		changed = s.Add(k.Split) || changed
		for _, a := range k.acks {
			changed = s.Acknowledge(k.Version, a) || changed
		}
	}
	return changed
}

// Newest returns the newest split that is known.
func (s *Splits) Newest() (Split, bool) {
	if len(s.known) == 0 {
		return Split{}, false
	}
	return s.known[len(s.known)-1].Split, true
}

// Share is what a region may use of total units in a period that begins at a
// Unix second.
func (s *Splits) Share(region string, start, total int64) int64 {
	if len(s.known) == 0 {
		return 0
	}
	share := s.known[0].Share(region, total)
	for i := 1; i < len(s.known); i++ {
		next, old := &s.known[i], &s.known[i-1]
		own, acked := next.ackOf(region)
		if !acked || start <= own.After {
			return share
		}
		latest, all := next.settled(&old.Split)
		switch {
		case !all:
			return min(share, next.Share(region, total))
		case start <= latest:
			return share
		}
		share = next.Share(region, total)
	}
	return share
}

// settled says whether every region of this split and the one before it has
// acknowledged, and the latest instant that one named.
func (k *acknowledged) settled(old *Split) (latest int64, all bool) {
	for _, weights := range [...][]Weight{old.Weights, k.Weights} {
		for _, w := range weights {
			ack, acked := k.ackOf(w.Region)
			if !acked {
				return 0, false
			}
			latest = max(latest, ack.After)
		}
	}
	return latest, true
}

func (k *acknowledged) ackOf(region string) (Ack, bool) {
	for _, a := range k.acks {
		if a.Region == region {
			return a, true
		}
	}
	return Ack{}, false
}

func (s *Splits) find(version uint64) (int, bool) {
	return slices.BinarySearchFunc(s.known, version, func(k acknowledged, v uint64) int { return cmp.Compare(k.Version, v) })
}
