package crdt

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

const (
	// MaxWeight bounds the weight of a region.
	MaxWeight = 1_000_000
	// MaxSplitRegions bounds the regions of a split, maxSplitRegionBytes the name
	// of one: so that all that is ever known of splits goes into one message.
	MaxSplitRegions     = 64
	maxSplitRegionBytes = 63
)

// ErrSplit is wrapped by every error that says a split breaks the rules.
var ErrSplit = errors.New("invalid split")

// Weight is one region's part in a split; 0 is a region that lives on gifts.
type Weight struct {
	Region string
	Weight uint32
}

// Split says how the rights of every quota are shared out among the regions.
// Splits of one version are to be the same everywhere; see Known for those that
// are not.
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

// Validate says which rule a split breaks: the version is at least 1, there are
// at most MaxSplitRegions regions with names of 1 to 63 bytes, each once and in
// order, weights are at most MaxWeight and not all 0. The error wraps ErrSplit.
func (s Split) Validate() error {
	switch {
	case s.Version == 0:
		return fmt.Errorf("%w: version is 0, must be at least 1", ErrSplit)
	case len(s.Weights) > MaxSplitRegions:
		return fmt.Errorf("%w: there are %d regions, may be %d", ErrSplit, len(s.Weights), MaxSplitRegions)
	}
	var sum uint64
	for i, w := range s.Weights {
		switch {
		case w.Region == "" || len(w.Region) > maxSplitRegionBytes:
			return fmt.Errorf("%w: region has %d bytes, must have 1 to %d", ErrSplit, len(w.Region), maxSplitRegionBytes)
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

// compare orders splits of one version.
func (s Split) compare(other Split) int {
	return slices.CompareFunc(s.Weights, other.Weights, func(a, b Weight) int {
		return cmp.Or(strings.Compare(a.Region, b.Region), cmp.Compare(a.Weight, b.Weight))
	})
}

// String lists regions and weights in order, as eu:1 us:2.
func (s Split) String() string {
	var b strings.Builder
	for i, w := range s.Weights {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s:%d", w.Region, w.Weight)
	}
	return b.String()
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
