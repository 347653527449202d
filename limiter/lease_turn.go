package limiter

import (
	"context"
	"slices"
	"strings"
	"time"

	"weir/limiter/store"
)

// leaseTurn is one row on its way through the store: what it held is returned,
// and if more is wanted, taken, in that order.
type leaseTurn struct {
	row  *leaseRow
	want int64 // units; 0 takes none
	owed []owedLease
	// reign is the store's; while it is not known nothing is asked.
	reign store.Reign

	// The changes asked for; nil where there was none to make.
	backs []*store.Change // of owed
	taken *store.Change
	// lease is what the store was asked for.
	lease lease
}

func newLeaseRow(a *leaseAsk, now time.Duration, hot int32) *leaseRow {
	row := &leaseRow{hash: a.hash, base: a.row, used: now, demand: demand{since: now, lastUnits: a.want, lastChecks: int64(hot)}}
	// A key may be part of a larger text, which is not to be kept.
	row.base.Row.Key = strings.Clone(a.row.Row.Key)
	return row
}

// turn takes the row out of use. Its shard is locked.
func (r *leaseRow) turn(want int64) *leaseTurn {
	r.close()
	r.busy = true
	return &leaseTurn{row: r, want: want, owed: slices.Clone(r.owed)}
}

// turn asks the store for all turns in one round trip.
func (l *Leases) turn(ctx context.Context, turns []*leaseTurn) {
	changes := make([]*store.Change, 0, 2*len(turns))
	for _, t := range turns {
		changes = l.plan(t, changes)
	}
	if len(changes) > 0 {
		l.store.Apply(ctx, changes)
		l.heard(changes)
	}
	now := l.at(l.now())
	for _, t := range turns {
		l.settle(t, now)
	}
}

// heard notes whether the store answers.
func (l *Leases) heard(changes []*store.Change) {
	failed := 0
	for _, c := range changes {
		if c.Status == store.Failed {
			failed++
		}
	}
	if failed == 0 {
		l.answered()
		l.pause = 0
		return
	}
	l.failed.Add(uint64(failed))
	l.missed()
	l.pause = l.at(l.now()) + leasePause
}

// plan appends what a turn asks of the store. Nothing is asked of a reign that
// is not known: it is as if the store had failed.
func (l *Leases) plan(t *leaseTurn, changes []*store.Change) []*store.Change {
	reign := l.store.Reign(t.row.base.Tag)
	t.reign, t.backs = reign, make([]*store.Change, len(t.owed))
	if reign == 0 {
		return changes
	}
	for i := range t.owed {
		o := &t.owed[i]
		if o.reign != reign {
			continue
		}
		c := l.change(t.row, store.ReturnLease, reign)
		c.Request, c.Units = o.id, o.left
		l.ledger.View(&c.QuotaRow) // a row that was counted can be returned to
		if c.Row.Generation == o.generation {
			t.backs[i] = c
			changes = append(changes, c)
		}
	}
	if t.want == 0 {
		return changes
	}
	c := l.change(t.row, store.TakeLease, reign)
	c.Request, c.Units = l.name(), t.want
	if !l.ledger.View(&c.QuotaRow) {
		return changes
	}
	t.taken = c
	t.lease = lease{id: c.Request, reign: reign, generation: c.Row.Generation, left: t.want}
	return append(changes, c)
}

func (l *Leases) change(row *leaseRow, kind store.ChangeKind, reign store.Reign) *store.Change {
	c := &store.Change{QuotaRow: row.base, Kind: kind, Node: l.node}
	c.Reign = reign
	return c
}

// settle takes in what the store said, and puts the row back to use.
func (l *Leases) settle(t *leaseTurn, now time.Duration) {
	believed := t.taken != nil && t.taken.Status == store.Allowed
	for _, c := range t.backs {
		if c != nil && c.Status == store.Allowed {
			l.ledger.Record(&c.QuotaRow) // what was returned stays so, believed or not
		}
	}
	if believed {
		believed = l.ledger.Record(&t.taken.QuotaRow)
	}
	sh := l.shard(t.row.hash)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	row := t.row
	row.busy, row.asked, row.short = false, false, false
	for i, c := range t.backs {
		if t.reign != 0 {
			l.settleBack(row, &t.owed[i], c)
		}
	}
	if t.want > 0 {
		l.settleTaken(t, believed, now)
	}
	if !row.live && len(row.owed) == 0 && now >= row.waits {
		l.drop(sh, row)
	}
}

// settleBack takes in the answer to a return. One that failed stays owed: it may
// be asked again under its name.
func (l *Leases) settleBack(row *leaseRow, o *owedLease, c *store.Change) {
	moved := int64(0)
	switch {
	case c == nil: // its reign or its generation is over
	case c.Status == store.Failed:
		return
	case c.Status == store.Allowed:
		moved = c.Moved
	}
	row.settled(o.id)
	l.returned.Add(uint64(moved))
	if o.unsure {
		l.taken.Add(uint64(moved))
	} else {
		l.forgotten.Add(uint64(o.left - moved))
	}
}

// settleTaken takes in the answer to a lease. Only what is believed is held; what
// was or may have been given otherwise is owed.
func (l *Leases) settleTaken(t *leaseTurn, believed bool, now time.Duration) {
	row, c := t.row, t.taken
	row.waits = now + leaseIdle // unless there is a lease
	switch {
	case c == nil || c.Status == store.WrongPeriod || c.Status == store.WrongReign:
		return
	case c.Status == store.Failed:
		row.owed = append(row.owed, owedLease{lease: t.lease, unsure: true})
		return
	case c.Moved == 0:
		return
	}
	t.lease.units, t.lease.left, t.lease.net = c.Moved, c.Moved, c.RegionNet
	l.taken.Add(uint64(c.Moved))
	if !believed {
		l.disbelieved.Add(1)
		row.owed = append(row.owed, owedLease{lease: t.lease})
		return
	}
	// There is one lease a name: what was owed is none any more.
	l.forgotten.Add(uint64(row.unspent()))
	row.owed = nil
	row.base.ID, row.base.Elsewhere = c.ID, c.Elsewhere
	row.held, row.live = t.lease, true
	row.used, row.viewed, row.waits = now, now, 0
}
