package ledger

import (
	"sync/atomic"

	"weir/crdt"
)

// shares answers what the own region's share is without working it out for
// every check: there are as many answers as rules with quotas, and one split is
// in force almost always.
type shares struct {
	region string
	splits crdt.Splits
	known  *atomic.Pointer[map[shareOf]int64]
}

type shareOf struct{ start, total int64 }

// maxShares bounds the answers kept; past it all are worked out anew.
const maxShares = 4096

func newShares(region string, splits crdt.Splits) shares {
	s := shares{region: region, splits: splits, known: new(atomic.Pointer[map[shareOf]int64])}
	s.known.Store(&map[shareOf]int64{})
	return s
}

func (s *shares) of(region string, start, total int64) int64 {
	if region != s.region {
		return s.splits.Share(region, start, total)
	}
	key := shareOf{start, total}
	known := *s.known.Load()
	if share, ok := known[key]; ok {
		return share
	}
	share := s.splits.Share(region, start, total)
	next := make(map[shareOf]int64, len(known)+1)
	if len(known) < maxShares {
		for k, v := range known {
			next[k] = v
		}
	}
	next[key] = share
	s.known.Store(&next) // another's answer may get lost: it is worked out again
	return share
}
