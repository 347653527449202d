package limiter

// Held is how many leases are out and how many of their units are not spent,
// those on their way back included.
func (l *Leases) Held() (leases, units int64) {
	l.each(func(_ *leaseShard, row *leaseRow) {
		if row.live || len(row.owed) > 0 {
			leases++
		}
		units += row.unspent()
	})
	return leases, units
}

// Spent is how many units checks were allowed from leases.
func (l *Leases) Spent() uint64 {
	spent, _ := l.used()
	return spent
}

// Decided is how many checks were decided from leases.
func (l *Leases) Decided() uint64 {
	_, decided := l.used()
	return decided
}

func (l *Leases) used() (spent, decided uint64) {
	for i := range l.shards {
		sh := &l.shards[i]
		sh.mu.Lock()
		spent, decided = spent+sh.spent, decided+sh.decided
		sh.mu.Unlock()
	}
	return spent, decided
}

// Taken is how many units the store gave in leases: those spent, returned,
// forgotten and held together.
func (l *Leases) Taken() uint64 { return l.taken.Load() }

// Returned is how many units were returned.
func (l *Leases) Returned() uint64 { return l.returned.Load() }

// Forgotten is how many units were neither spent nor known to be returned: their
// period, reign or generation was over. They count as spent.
func (l *Leases) Forgotten() uint64 { return l.forgotten.Load() }

// Evicted is how many leases were returned to make room for others.
func (l *Leases) Evicted() uint64 { return l.evicted.Load() }

// Dropped is how many asks for a lease found the queue full.
func (l *Leases) Dropped() uint64 { return l.dropped.Load() }

// Failed is how many times the store did not answer for a lease.
func (l *Leases) Failed() uint64 { return l.failed.Load() }

// Disbelieved is how many leases came after an exchange with other nodes had
// begun: they were not used.
func (l *Leases) Disbelieved() uint64 { return l.disbelieved.Load() }
