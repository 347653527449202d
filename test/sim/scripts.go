package sim

import (
	"time"

	"weir/crdt"
	"weir/limiter/quota"
	"weir/limiter/store"
)

// status is how a script ended.
type status uint8

const (
	statusFailed status = iota // it did not come to an answer
	statusAllowed
	statusDenied
	statusWrongReign
	statusWrongPeriod
	statusWrongSplit
	statusCancelled
)

// admits is what every script that changes a row checks first.
func (s *redis) admits(c *call, q *store.QuotaRow) status {
	c.storeUs, c.acked = s.nowUs(), s.marker.acked
	switch {
	case !s.in(uint64(q.Reign)):
		return statusWrongReign
	case s.marker.acked != 0 && c.named == 0:
		return statusWrongSplit
	case !q.Row.Within(c.storeUs) && !s.w.mutant.PeriodUnchecked:
		return statusWrongPeriod
	}
	if s.marker.acked == 0 {
		s.marker.acked = c.named
	}
	return statusAllowed
}

// take is the script that decides one check.
func (s *redis) take(c *call, t *store.QuotaTake) status {
	if st := s.admits(c, &t.QuotaRow); st != statusAllowed {
		return st
	}
	if have, known := s.requests[c.request]; known && have.until > s.w.now {
		return statusCancelled
	}
	r := s.touch(&t.QuotaRow)
	b := r.bounds(&t.QuotaRow)
	t.Outcome = r.row.Try(b, t.Cost)
	st := statusDenied
	switch t.Outcome {
	case quota.Fits:
		r.row.Charge(b, t.Cost)
		s.requests[c.request] = request{units: t.Cost, row: r.id, until: s.w.now + requestLife}
		s.w.truth.charge(c, c.request, r.name, t.Cost)
		st = statusAllowed
	case quota.NoRights:
		r.row.Refuse(t.Cost, t.Mark)
		s.w.note("  store of %s has rights for %d of %s, not %d", s.region.name, r.row.Sums().Rights(b), label(r.name), t.Cost)
	case quota.Exhausted:
	}
	s.wrote(c, r, &t.QuotaRow, st == statusAllowed)
	return st
}

// change is the script that changes a row otherwise.
func (s *redis) change(c *call, ch *store.Change) status {
	q := &ch.QuotaRow
	if st := s.admits(c, q); st != statusAllowed && !s.tolerates(st, ch.Kind) {
		return st
	}
	r := s.touch(q)
	b := r.bounds(q)
	switch ch.Kind {
	case store.Give:
		ch.Moved = r.row.Give(b, ch.To, ch.Units, ch.Keep)
		s.deductLate(r, ch.Moved)
		s.w.note("  store of %s gives %d of %s to %s, to %d in all, keeps %d of %d", s.region.name, ch.Moved, label(r.name), ch.To, ch.Units, ch.Keep, r.row.Sums().Rights(b))
		s.w.report.gave(ch.Moved)
	case store.Refund:
		ch.Moved = r.row.Refund(ch.Request, ch.Units)
		s.w.truth.refund(ch.Request, s.region, r.name, ch.Moved)
	case store.Grant:
		r.row.Own = r.row.Own.Grant(ch.Units)
		ch.Moved = ch.Units
		s.w.truth.grant(s.region, r.name, ch.Units)
	case store.TakeLease:
		_, out := s.w.truth.charges[ch.Request]
		ch.Moved = r.row.TakeLease(b, ch.Node, ch.Request, ch.Units, c.storeUs)
		if ch.Moved > 0 && !out {
			s.w.truth.charge(c, ch.Request, r.name, ch.Moved)
		}
	case store.ReturnLease:
		ch.Moved = r.row.ReturnLease(ch.Node, ch.Request, ch.Units)
		if s.w.mutant.LeaseAnyReign && ch.Moved == 0 && c.leasedIn != r.reign {
			ch.Moved = r.row.Return(ch.Units)
		}
		s.w.truth.giveBack(ch.Request, ch.Moved)
	case store.Open:
		r.row.Open()
	}
	s.wrote(c, r, q, ch.Kind == store.Give || ch.Kind == store.TakeLease)
	return statusAllowed
}

// tolerates: what gives back is taken for as long as the row lives.
func (s *redis) tolerates(st status, kind store.ChangeKind) bool {
	return st == statusWrongPeriod && (kind == store.ReturnLease || kind == store.Refund)
}

// cancel takes back what a call charged, or sees to it that it never will.
func (s *redis) cancel(c *call, q *store.QuotaRow, id quota.RequestID) status {
	c.storeUs = s.nowUs()
	if !s.in(uint64(q.Reign)) {
		return statusWrongReign
	}
	have := s.requests[id]
	s.requests[id] = request{cancelled: true, until: s.w.now + requestLife}
	r := s.rows[crdt.RowID(q.ID)]
	if have.units == 0 || have.until <= s.w.now || r == nil || r.reign != s.marker.nonce {
		return statusDenied
	}
	s.w.truth.giveBack(id, r.row.Return(have.units))
	s.wrote(c, r, q, false)
	return statusAllowed
}

// claim puts a node's claim where no reign is, or another's claim.
func (s *redis) claim(claim uint64) bool {
	if s.rules() {
		return false
	}
	s.marker = marker{claim: claim, run: s.run, acked: s.marker.acked}
	return true
}

// open replaces a claim by a reign.
func (s *redis) open(claim, nonce uint64, acked int64) bool {
	skipped := s.w.mutant.ClaimSkipped && !s.rules()
	if !skipped && (s.rules() || s.marker.claim != claim || s.marker.run != s.run) {
		return false
	}
	s.marker = marker{nonce: nonce, run: s.run, acked: max(s.marker.acked, acked)}
	s.w.report.Reigns++
	return true
}

// acknowledge records the region's acknowledgement of the next split.
func (s *redis) acknowledge(reign uint64) (after int64, ok bool) {
	if !s.in(reign) {
		return 0, false
	}
	if s.marker.acked == 0 {
		s.marker.acked = s.unix() + 1
	}
	return s.marker.acked, true
}

// wrote tells the truth what a script left behind.
func (s *redis) wrote(c *call, r *redisRow, q *store.QuotaRow, spent bool) {
	s.answer(q, r)
	if r.row.Own.Version == 0 {
		return
	}
	e := s.entry(r)
	c.flight = &knownEntry{r.id, e}
	s.w.truth.count(r.name, e)
	if spent {
		s.w.truth.spent(c, s, r, q)
	}
}

// deductLate is the law-breaker's: a gift is told of at once and deducted later.
func (s *redis) deductLate(r *redisRow, moved int64) {
	if !s.w.mutant.DeductLate || moved == 0 {
		return
	}
	r.unpaid += moved
	s.w.at(2*time.Second, "late deduction", func() { r.unpaid -= moved })
}
