package crdt

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

const (
	// MaxRivals is how many splits of one version are kept.
	MaxRivals = 8
	// MaxAcks bounds the acknowledgements of one version: two of each region.
	MaxAcks = 2 * MaxSplitRegions
)

// Known is what is known of one version of the split. There should be one split
// of it, and one acknowledgement of each region.
type Known struct {
	Version uint64
	// Rivals are the splits of this version, in order: at least one, and more
	// where regions were told different ones.
	Rivals []Split
	// More says that there were more rivals than are kept. Nobody has a share
	// then.
	More bool
	// Acks are in order of region, then instant: of each region the earliest and
	// the latest that it named, should it ever have named two.
	Acks []Ack
}

// Ack is a region's acknowledgement of a split: the Unix second after which it
// begins no period under the one before.
type Ack struct {
	Region string
	After  int64
}

func (a Ack) compare(b Ack) int {
	return cmp.Or(strings.Compare(a.Region, b.Region), cmp.Compare(a.After, b.After))
}

func (k *Known) validate() error {
	switch {
	case len(k.Rivals) == 0 || len(k.Rivals) > MaxRivals:
		return fmt.Errorf("%w: version %d has %d splits, must have 1 to %d", ErrSplit, k.Version, len(k.Rivals), MaxRivals)
	case len(k.Acks) > MaxAcks:
		return fmt.Errorf("%w: version %d has %d acknowledgements, may have %d", ErrSplit, k.Version, len(k.Acks), MaxAcks)
	}
	for _, split := range k.Rivals {
		if split.Version != k.Version {
			return fmt.Errorf("%w: version is %d, must be %d", ErrSplit, split.Version, k.Version)
		}
		if err := split.Validate(); err != nil {
			return err
		}
	}
	for _, a := range k.Acks {
		if a.Region == "" || len(a.Region) > maxSplitRegionBytes {
			return fmt.Errorf("%w: region of an acknowledgement has %d bytes, must have 1 to %d", ErrSplit, len(a.Region), maxSplitRegionBytes)
		}
	}
	return nil
}

// clone copies what changes: weights never do.
func (k *Known) clone() Known {
	return Known{Version: k.Version, Rivals: slices.Clone(k.Rivals), More: k.More, Acks: slices.Clone(k.Acks)}
}

// disputed says whether there are rivals.
func (k *Known) disputed() bool { return k.More || len(k.Rivals) > 1 }

// join takes in what another knows of the version. It keeps the first rivals in
// order and remembers that there were more; so the order in which they are heard
// of makes no difference.
func (k *Known) join(other Known) (changed bool) {
	for _, split := range other.Rivals {
		i, found := slices.BinarySearchFunc(k.Rivals, split, Split.compare)
		switch {
		case found:
			continue
		case len(k.Rivals) == MaxRivals && i == MaxRivals:
			changed = changed || !k.More
			k.More = true
			continue
		case len(k.Rivals) == MaxRivals:
			k.Rivals = k.Rivals[:MaxRivals-1]
			k.More = true
		}
		k.Rivals = slices.Insert(k.Rivals, i, split)
		changed = true
	}
	if other.More && !k.More {
		k.More, changed = true, true
	}
	return k.joinAcks(other.Acks) || changed
}

// joinAcks keeps of each region the earliest and the latest acknowledgement, and
// of regions the first MaxSplitRegions in order. Who misses one is cautious.
func (k *Known) joinAcks(other []Ack) (changed bool) {
	acks := slices.Concat(k.Acks, other)
	slices.SortFunc(acks, Ack.compare)
	kept := make([]Ack, 0, len(acks))
	regions, same := 0, 0 // acknowledgements kept of the last region
	for _, a := range acks {
		switch n := len(kept); {
		case n == 0 || kept[n-1].Region != a.Region:
			regions++
			same = 1
		case kept[n-1] == a:
			continue
		case same == 2:
			kept[n-1] = a
			continue
		default:
			same = 2
		}
		if regions > MaxSplitRegions {
			break
		}
		kept = append(kept, a)
	}
	if slices.Equal(kept, k.Acks) {
		return false
	}
	k.Acks = kept
	return true
}

// share is the smallest of a region's shares of the rivals: those of all regions
// sum to no more than the total.
func (k *Known) share(region string, total int64) int64 {
	if k.More {
		return 0
	}
	share := k.Rivals[0].Share(region, total)
	for _, rival := range k.Rivals[1:] {
		share = min(share, rival.Share(region, total))
	}
	return share
}

// instants are the earliest and the latest that may count.
type instants struct{ first, last int64 }

// settled says whether every region of this version and the one before it has
// acknowledged, and the latest instant that one named.
func (k *Known) settled(old *Known) (latest instants, all bool) {
	latest = instants{math.MinInt64, math.MinInt64}
	for _, splits := range [...][]Split{old.Rivals, k.Rivals} {
		for _, split := range splits {
			for _, w := range split.Weights {
				ack, acked := k.ackOf(w.Region)
				if !acked {
					return instants{}, false
				}
				latest.first = max(latest.first, ack.first)
				latest.last = max(latest.last, ack.last)
			}
		}
	}
	return latest, !old.More && !k.More
}

// ackOf is what a region acknowledged.
func (k *Known) ackOf(region string) (when instants, acked bool) {
	for _, a := range k.Acks {
		switch {
		case a.Region != region:
		case !acked:
			when, acked = instants{a.After, a.After}, true
		default:
			when.last = a.After
		}
	}
	return when, acked
}

// hash takes the version into a digest.
func (k *Known) hash(h uint64) uint64 {
	h = mix(h^k.Version, key0^uint64(len(k.Rivals)))
	if k.More {
		h = mix(h, key1)
	}
	for _, split := range k.Rivals {
		h = mix(h^uint64(len(split.Weights)), key2)
		for _, w := range split.Weights {
			h = mix(h^hashText(w.Region), key3^uint64(w.Weight))
		}
	}
	for _, a := range k.Acks {
		h = mix(h^hashText(a.Region), key1^uint64(a.After))
	}
	return h
}
