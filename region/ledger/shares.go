package ledger

import (
	"sync/atomic"

	"weir/crdt"
)

// shares answers what the own region's share is without working it out for
// every check: there are as many answers as rules with quotas, and one split is
// in force almost always. It follows the splits as they change.
type shares struct {
	region string
	splits func() *crdt.Splits
	known  *atomic.Pointer[answers]
}

// answers are shares under splits; both are only read.
type answers struct {
	splits *crdt.Splits
	shares map[shareOf]int64
}

type shareOf struct{ start, total int64 }

// maxShares bounds the answers kept; past it all are worked out anew.
const maxShares = 4096

func newShares(region string, splits func() *crdt.Splits) shares {
	s := shares{region: region, splits: splits, known: new(atomic.Pointer[answers])}
	s.known.Store(&answers{})
	return s
}

func (s *shares) of(region string, start, total int64) int64 {
	splits := s.splits()
	if region != s.region {
		return splits.Share(region, start, total)
	}
	key := shareOf{start, total}
	var before map[shareOf]int64
	if known := s.known.Load(); known.splits == splits {
		before = known.shares
	}
	if share, ok := before[key]; ok {
		return share
	}
	share := splits.Share(region, start, total)
	next := &answers{splits, make(map[shareOf]int64, len(before)+1)}
	if len(before) < maxShares {
		for k, v := range before {
			next.shares[k] = v
		}
	}
	next.shares[key] = share
	s.known.Store(next) // another's answer may get lost: it is worked out again
	return share
}
