package limiter

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"weir/limiter/quota"
	"weir/limiter/store"
)

const (
	// leaseShards is how many parts the rows lie in, each under its own lock;
	// leaseSlots how many candidates each part counts.
	leaseShards = 128
	leaseSlots  = 64
	// leaseTakes bounds the quotas of a check that leases may decide.
	leaseTakes = 16
)

// leaseShard is a part of the rows. Rows are found by a hash with a seed of this
// process; of two with one hash the second is not leased.
type leaseShard struct {
	mu         sync.Mutex
	rows       map[uint64]*leaseRow
	spent      uint64 // units
	decided    uint64 // checks; one of many rows counts where its first lies
	candidates [leaseSlots]candidate
	_          [64]byte // no two locks on one cache line
}

func (l *Leases) hash(n *store.RowName) uint64 {
	h := maphash.String(l.seed, n.Key)
	// Odd multipliers lose nothing; the rules are few and not for others to name.
	return h ^ maphash.String(l.seed, n.Rule)*0x9e3779b97f4a7c15 ^ uint64(n.Start)*0xbf58476d1ce4e5b9
}

func (l *Leases) shard(hash uint64) *leaseShard { return &l.shards[hash%leaseShards] }

func (s *leaseShard) candidate(hash uint64) *candidate {
	return &s.candidates[hash/leaseShards%leaseSlots]
}

// leasable says whether leases may decide a call: it charges quotas, and
// nothing else. A look goes to the store.
func leasable(c *store.Call) bool {
	if len(c.Buckets) > 0 || len(c.Quotas) == 0 || len(c.Quotas) > leaseTakes {
		return false
	}
	for i := range c.Quotas {
		if c.Quotas[i].Cost <= 0 {
			return false
		}
	}
	return true
}

// spend decides a call from leases, if they cover all of it: then it is answered
// as by the store, whose clock the caller fills in. Else nothing is spent; leases
// deny nothing.
func (l *Leases) spend(c *store.Call, now time.Time) bool {
	if !leasable(c) {
		return false
	}
	if len(c.Quotas) > 1 {
		return l.spendAll(c, now)
	}
	t := &c.Quotas[0]
	hash := l.hash(&t.Row)
	sh := l.shard(hash)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	row := sh.rows[hash]
	if row == nil || !row.covers(t) {
		return false
	}
	l.pay(sh, row, t, l.at(now))
	sh.decided++
	c.Status, c.Err = store.Allowed, nil
	return true
}

// spendAll is spend for many quotas. All their shards are locked, each once and
// in order, so that two calls cannot wait for each other.
func (l *Leases) spendAll(c *store.Call, now time.Time) bool {
	var hashes [leaseTakes]uint64
	var rows [leaseTakes]*leaseRow
	var few [leaseTakes]uint16
	locked := few[:0]
	for i := range c.Quotas {
		hashes[i] = l.hash(&c.Quotas[i].Row)
		locked = append(locked, uint16(hashes[i]%leaseShards))
	}
	slices.Sort(locked)
	locked = slices.Compact(locked)
	for _, i := range locked {
		l.shards[i].mu.Lock()
	}
	covered := true
	for i := range c.Quotas {
		rows[i] = l.shard(hashes[i]).rows[hashes[i]]
		covered = covered && rows[i] != nil && rows[i].covers(&c.Quotas[i])
	}
	if covered {
		for i := range c.Quotas {
			l.pay(l.shard(hashes[i]), rows[i], &c.Quotas[i], l.at(now))
		}
		l.shard(hashes[0]).decided++
		c.Status, c.Err = store.Allowed, nil
	}
	for _, i := range locked {
		l.shards[i].mu.Unlock()
	}
	return covered
}

// pay pays for one take. A lease that is spent asks for another.
func (l *Leases) pay(sh *leaseShard, row *leaseRow, t *store.QuotaTake, now time.Duration) {
	row.pay(t, now)
	sh.spent += uint64(t.Cost)
	if row.held.left == 0 {
		l.askFor(row, t)
	}
}

// askFor asks that a row be looked at, once.
func (l *Leases) askFor(row *leaseRow, t *store.QuotaTake) {
	if row.asked || row.busy {
		return
	}
	row.asked = l.ask(&leaseAsk{hash: row.hash, row: bare(&t.QuotaRow), cost: t.Cost, want: row.demand.want()})
}

// bare is what names a row and its rights.
func bare(q *store.QuotaRow) store.QuotaRow {
	return store.QuotaRow{Row: q.Row, Tag: q.Tag, Limit: q.Limit, Total: q.Total}
}

// met learns from a call that the store decided: which rows are hot, whose
// leases do not cover what is asked, where the region runs short.
func (l *Leases) met(c *store.Call, now time.Time) {
	l.answered()
	counted := c.Status == store.Allowed && leasable(c)
	for i := range c.Quotas {
		t := &c.Quotas[i]
		switch {
		case t.Outcome != quota.Fits && !t.Full && t.Cost <= t.Limit:
			l.refused(t)
		case counted:
			l.asked(t, l.at(now))
		}
	}
}

// refused has the lease of a row returned: its region runs short.
func (l *Leases) refused(t *store.QuotaTake) {
	hash := l.hash(&t.Row)
	sh := l.shard(hash)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if row := sh.rows[hash]; row != nil && row.live && row.names(&t.QuotaRow) {
		row.short = true
		l.askFor(row, t)
	}
}

// asked counts a check that the store allowed.
func (l *Leases) asked(t *store.QuotaTake, now time.Duration) {
	hash := l.hash(&t.Row)
	sh := l.shard(hash)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	row := sh.rows[hash]
	if row == nil {
		if want, hot := sh.candidate(hash).note(hash, now, t.Cost, l.hot); hot {
			l.ask(&leaseAsk{hash: hash, row: bare(&t.QuotaRow), cost: t.Cost, want: want})
		}
		return
	}
	row.demand.note(now, t.Cost)
	if row.live && row.names(&t.QuotaRow) && row.spent(&t.QuotaRow, t.Cost) {
		l.askFor(row, t)
	}
}
