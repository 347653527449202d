package ledger

import (
	"time"

	"weir/crdt"
	"weir/gossip"
	"weir/limiter/store"
)

const (
	// InTouch is the age of the newest state heard from a region below which it
	// is in touch; CutOff is the age from which it is cut off. Between them it is
	// behind.
	InTouch = 2 * time.Second
	CutOff  = 10 * time.Second

	// giftWait is about how long a gift takes that is on its way.
	giftWait = 500 * time.Millisecond
)

// RightsWait implements limiter.Ledger. Of the regions that hold rights, the one
// last heard will give first. While it is silent nobody knows for how long: as
// long again as it has been is the honest guess.
func (l *Ledger) RightsWait(q *store.QuotaRow) time.Duration {
	ages := l.rows.Heard()
	youngest := time.Duration(-1)
	l.rows.View(crdt.RowID(q.ID), func(row *crdt.Row) {
		for _, h := range ages {
			if h.Region == l.region || !h.Known || row.Rights(h.Region, l.Share(h.Region, q.Row.Start, q.Total)) <= 0 {
				continue
			}
			if youngest < 0 || h.Age < youngest {
				youngest = h.Age
			}
		}
	})
	switch {
	case youngest < 0:
		return l.noneHeard(ages)
	case youngest < InTouch:
		return giftWait
	}
	return youngest
}

// noneHeard is the wait where no region that was heard holds rights: those that
// do were never heard, or the units are under way.
func (l *Ledger) noneHeard(ages []gossip.RegionAge) time.Duration {
	for _, h := range ages {
		if !h.Known {
			return CutOff
		}
	}
	return giftWait
}
