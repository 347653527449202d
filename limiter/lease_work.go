package limiter

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// Run takes, exchanges and returns leases until the context ends or Stop is
// called. It leaves leases out when it ends: to return them is Stop's.
func (l *Leases) Run(ctx context.Context) {
	tick := time.NewTicker(leaseTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.stopped:
			return
		case a := <-l.asks:
			l.attend(ctx, l.waiting(a))
		case <-tick.C:
			l.sweep(ctx)
		}
	}
}

// stopRetry is how long Stop waits before it asks a store again that failed.
const stopRetry = 20 * time.Millisecond

// Stop returns all leases, and takes no more. It gives up when the context ends;
// the error then says how many leases are out: they count as spent.
func (l *Leases) Stop(ctx context.Context) error {
	l.stop.Do(func() { close(l.stopped) })
	l.work.Lock()
	defer l.work.Unlock()
	for {
		l.giveBack(ctx, l.pick(func(row *leaseRow) bool {
			row.waits = 0 // for a lease: there will be none
			return true
		}))
		out := l.rows.Load()
		if out == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("leases on quotas: %d could not be returned and count as spent: %w", out, ctx.Err())
		case <-time.After(stopRetry):
		}
	}
}

func (l *Leases) isStopped() bool {
	select {
	case <-l.stopped:
		return true
	default:
		return false
	}
}

// waiting is a batch of asks, the first of which was taken already.
func (l *Leases) waiting(first leaseAsk) []leaseAsk {
	asks := []leaseAsk{first}
	for len(asks) < leaseBatch {
		select {
		case a := <-l.asks:
			asks = append(asks, a)
		default:
			return asks
		}
	}
	return asks
}

// attend looks at the rows that asks name.
func (l *Leases) attend(ctx context.Context, asks []leaseAsk) {
	l.work.Lock()
	defer l.work.Unlock()
	if l.isStopped() {
		return
	}
	now := l.at(l.now())
	if now >= l.pause {
		l.makeRoom(ctx, asks)
	}
	turns := make([]*leaseTurn, 0, len(asks))
	for i := range asks {
		if t := l.begin(&asks[i], now); t != nil {
			turns = append(turns, t)
		}
	}
	l.turn(ctx, turns)
}

// begin takes a row that an ask names out of use, if there is something to do
// about it.
func (l *Leases) begin(a *leaseAsk, now time.Duration) *leaseTurn {
	sh := l.shard(a.hash)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	row := sh.rows[a.hash]
	if row != nil {
		row.asked = false
	}
	switch {
	case now < l.pause:
		return nil
	case row == nil && l.rows.Load() >= int64(l.most):
		return nil
	case row == nil:
		row = newLeaseRow(a, now, l.hot)
		sh.rows[a.hash] = row
		l.rows.Add(1)
		return row.turn(a.want)
	case row.busy || !row.live || !row.names(&a.row):
		return nil
	case row.short && l.returnable(row):
		row.waits = now + leaseIdle
		return row.turn(0)
	case !row.spent(&a.row, a.cost):
		return nil
	}
	row.base.Limit, row.base.Total = a.row.Limit, a.row.Total
	return row.turn(max(row.demand.want(), min(a.cost, a.row.Limit)))
}

// makeRoom returns the leases least recently used, as many as asks are for new
// rows beyond the bound.
func (l *Leases) makeRoom(ctx context.Context, asks []leaseAsk) {
	over := int(l.rows.Load()) - l.most
	for i := range asks {
		sh := l.shard(asks[i].hash)
		sh.mu.Lock()
		if sh.rows[asks[i].hash] == nil {
			over++
		}
		sh.mu.Unlock()
	}
	if over <= 0 || l.away.Load() {
		return
	}
	type aged struct {
		row  *leaseRow
		used time.Duration
	}
	var all []aged
	l.each(func(_ *leaseShard, row *leaseRow) { all = append(all, aged{row, row.used}) })
	slices.SortFunc(all, func(a, b aged) int { return cmp.Compare(a.used, b.used) })
	rows := make([]*leaseRow, 0, over)
	for _, a := range all[:min(over, len(all))] {
		rows = append(rows, a.row)
	}
	l.evicted.Add(uint64(len(rows)))
	l.giveBack(ctx, rows)
}

// sweep looks at all rows: what is not used is returned, what is over is
// forgotten.
func (l *Leases) sweep(ctx context.Context) {
	l.work.Lock()
	defer l.work.Unlock()
	if l.isStopped() {
		return
	}
	wall := l.now()
	now := l.at(wall)
	l.dropEnded(wall.Unix(), now)
	l.review(now)
	if now < l.pause || l.away.Load() && l.store.Ready(ctx) != nil {
		return
	}
	l.giveBack(ctx, l.pick(func(row *leaseRow) bool { return l.isDue(row, now) }))
}

// dropEnded forgets rows whose period is over, and those without a lease whose
// wait is.
func (l *Leases) dropEnded(wall int64, now time.Duration) {
	l.each(func(sh *leaseShard, row *leaseRow) {
		if row.base.Row.End <= wall || !row.live && len(row.owed) == 0 && now >= row.waits {
			l.drop(sh, row)
		}
	})
}

// isDue says whether a row's lease is to be returned: it is not used, or hardly,
// or its region runs short, or the last attempt failed.
func (l *Leases) isDue(row *leaseRow, now time.Duration) bool {
	if !row.live {
		return len(row.owed) > 0
	}
	if now-row.used >= leaseIdle {
		return l.store.Reign(row.base.Tag) != 0 // who knows none cannot return
	}
	row.demand.roll(now)
	return (row.short || row.demand.lastChecks*coldChecks < int64(l.hot)) && l.returnable(row)
}

// returnable says whether a lease can be returned: it was taken in the reign
// that is. What another gave is spent, or forgotten once nobody uses it.
func (l *Leases) returnable(row *leaseRow) bool { return l.store.Reign(row.base.Tag) == row.held.reign }

// coldChecks is the part of the checks that make a row hot below which its lease
// is returned: one in so many.
const coldChecks = 10

// giveBack returns the leases of rows. While the store does not answer, one is
// tried; the others can still be spent.
func (l *Leases) giveBack(ctx context.Context, rows []*leaseRow) {
	for len(rows) > 0 {
		n := min(len(rows), leaseBatch)
		if l.away.Load() {
			n = 1
		}
		turns := make([]*leaseTurn, 0, n)
		for _, row := range rows[:n] {
			sh := l.shard(row.hash)
			sh.mu.Lock()
			turns = append(turns, row.turn(0))
			sh.mu.Unlock()
		}
		l.turn(ctx, turns)
		if l.away.Load() {
			return
		}
		rows = rows[n:]
	}
}

// pick returns the rows that are due, those first of which a return is owed.
func (l *Leases) pick(due func(*leaseRow) bool) (rows []*leaseRow) {
	owing := 0
	l.each(func(_ *leaseShard, row *leaseRow) {
		if !due(row) {
			return
		}
		rows = append(rows, row)
		if len(row.owed) > 0 {
			last := len(rows) - 1
			rows[owing], rows[last] = rows[last], rows[owing]
			owing++
		}
	})
	return rows
}

// each calls f with every row, under its shard's lock.
func (l *Leases) each(f func(*leaseShard, *leaseRow)) {
	for i := range l.shards {
		sh := &l.shards[i]
		sh.mu.Lock()
		for _, row := range sh.rows {
			f(sh, row)
		}
		sh.mu.Unlock()
	}
}

// drop forgets a row; what it held stays taken. Its shard is locked.
func (l *Leases) drop(sh *leaseShard, row *leaseRow) {
	l.forgotten.Add(uint64(row.unspent()))
	row.live = false
	delete(sh.rows, row.hash)
	l.rows.Add(-1)
}

// review asks the ledger about leases it was not asked about for a second: what
// others took meanwhile, and whether the row was reset.
func (l *Leases) review(now time.Duration) {
	rows := l.pick(func(row *leaseRow) bool { return row.live && now-row.viewed >= time.Second })
	for _, row := range rows {
		q := row.base // only whoever holds l.work changes it
		q.Reign = row.held.reign
		counted := l.ledger.View(&q)
		sh := l.shard(row.hash)
		sh.mu.Lock()
		row.viewed = now
		if counted {
			row.base.Elsewhere = q.Elsewhere
		}
		if q.Row.Generation != row.held.generation {
			l.drop(sh, row)
		}
		sh.mu.Unlock()
	}
}
