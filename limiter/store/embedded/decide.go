package embedded

import (
	"context"
	"slices"

	"weir/limiter/bucket"
	"weir/limiter/quota"
	"weir/limiter/store"
)

// Decide implements store.Store. It does not block on I/O; the context is
// looked at once, so that late work is dropped.
func (s *Store) Decide(ctx context.Context, calls []*store.Call) {
	late := ctx.Err()
	for _, c := range calls {
		if late != nil {
			c.Fail(late)
			continue
		}
		if err := c.Check(); err != nil {
			c.Fail(err)
			continue
		}
		c.Err = nil
		if len(c.Buckets) == 1 && len(c.Quotas) == 0 {
			s.decideOne(c)
			continue
		}
		s.decideAll(c)
	}
}

// decideOne decides a call that is one bucket: one lock, one look-up.
func (s *Store) decideOne(c *store.Call) {
	t := &c.Buckets[0]
	hash := s.hash(&t.ID)
	sh := s.shard(hash)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	// The clock is read under the lock: a state that ended before one reading
	// may be dropped, and an earlier reading must not come after that.
	c.NowUs = s.now()
	have := sh.buckets.find(hash, &t.ID)
	var before bucket.State
	if have != nil {
		before = *have
	}
	t.State, t.Fits = t.Rate.Take(before, c.NowUs, t.Cost)
	t.Full = false
	c.Status = status(t.Fits)
	switch {
	case t.Cost == 0 || t.State == before:
	case have != nil:
		*have = t.State
	case !s.putBucket(sh, hash, &t.ID, t.State, c.NowUs):
		t.State, t.Full = before, true
	}
}

func status(fits bool) store.Status {
	if fits {
		return store.Allowed
	}
	return store.Denied
}

// decideAll decides any call: everything it touches is locked, all takes are
// tried, and only if all fit is anything taken.
func (s *Store) decideAll(c *store.Call) {
	var few [16]uint16
	locked := s.lock(c, few[:0])
	defer s.unlock(locked)
	c.NowUs = s.now()
	if !s.current(c) {
		return
	}
	fits := true
	for i := range c.Buckets {
		fits = s.tryBucket(&c.Buckets[i], c.NowUs) && fits
	}
	for i := range c.Quotas {
		fits = s.tryQuota(&c.Quotas[i], c.NowUs) && fits
	}
	c.Status = status(fits)
	for i := range c.Buckets {
		s.endBucket(&c.Buckets[i], fits, c.NowUs)
	}
	for i := range c.Quotas {
		s.endQuota(&c.Quotas[i], fits)
	}
}

// lock locks every shard of a call, each once and in order, so that two calls
// cannot wait for each other. It returns them, in list if they fit.
func (s *Store) lock(c *store.Call, list []uint16) []uint16 {
	for i := range c.Buckets {
		list = append(list, uint16(s.hash(&c.Buckets[i].ID)%shards))
	}
	for i := range c.Quotas {
		list = append(list, uint16(s.hash(&c.Quotas[i].ID)%shards))
	}
	slices.Sort(list)
	list = slices.Compact(list)
	for _, i := range list {
		s.shards[i].mu.Lock()
	}
	return list
}

func (s *Store) unlock(list []uint16) {
	for _, i := range list {
		s.shards[i].mu.Unlock()
	}
}

// current says whether every quota names this reign, or none, and a period that holds
// now; else it sets the status.
func (s *Store) current(c *store.Call) bool {
	for i := range c.Quotas {
		if !s.inReign(&c.Quotas[i].QuotaRow) {
			c.Status = store.WrongReign
			return false
		}
	}
	for i := range c.Quotas {
		if !c.Quotas[i].Row.Within(c.NowUs) {
			c.Status = store.WrongPeriod
			return false
		}
	}
	return true
}

// inReign says whether a row is asked for in this reign, or in any; it then
// names this one.
func (s *Store) inReign(q *store.QuotaRow) bool {
	if q.Reign != 0 && q.Reign != s.reign {
		return false
	}
	q.Reign = s.reign
	return true
}

func (s *Store) tryBucket(t *store.BucketTake, nowUs int64) bool {
	hash := s.hash(&t.ID)
	t.State, t.Full = bucket.State{}, false
	if have := s.shard(hash).buckets.find(hash, &t.ID); have != nil {
		t.State = t.Rate.Settle(*have, nowUs)
	}
	_, t.Fits = t.Rate.Take(t.State, nowUs, t.Cost)
	return t.Fits
}

// endBucket takes what fits; where nothing is taken, it keeps a state that
// had to be settled.
func (s *Store) endBucket(t *store.BucketTake, take bool, nowUs int64) {
	if t.Cost == 0 {
		return
	}
	hash := s.hash(&t.ID)
	sh := s.shard(hash)
	if !take {
		if have := sh.buckets.find(hash, &t.ID); have != nil {
			*have = t.State
		}
		return
	}
	next, _ := t.Rate.Take(t.State, nowUs, t.Cost)
	if t.Full = !s.putBucket(sh, hash, &t.ID, next, nowUs); !t.Full {
		t.State = next
	}
}

// open returns the row to decide on: one that is new is kept only if it is to
// change, and otherwise one to look at. What the caller knows of earlier reigns
// is kept whatever is decided.
func (s *Store) open(q *store.QuotaRow, keep bool, nowUs int64) *row {
	sh := s.shard(s.hash(&q.ID))
	r, known := sh.rows[q.ID]
	q.Full = false
	if !known && (keep || len(q.Earlier) > 0) {
		r = s.addRow(sh, q.ID, q.Row, nowUs)
		q.Full = r == nil
	}
	if r == nil {
		r = &row{}
	}
	r.merge(q.Earlier, s.reign)
	return r
}

// close drops a row that was kept for a change that did not come about.
func (s *Store) close(q *store.QuotaRow) {
	sh := s.shard(s.hash(&q.ID))
	if r, kept := sh.rows[q.ID]; kept && r.IsEmpty() {
		s.dropRow(sh, q.ID)
	}
}

func (s *Store) tryQuota(t *store.QuotaTake, nowUs int64) bool {
	r := s.open(&t.QuotaRow, t.Cost > 0, nowUs)
	s.answer(&t.QuotaRow, r)
	t.Outcome = r.Try(t.Bounds(), t.Cost)
	if t.Full && t.Cost > 0 {
		t.Outcome = quota.Exhausted
	}
	return t.Outcome == quota.Fits
}

func (s *Store) endQuota(t *store.QuotaTake, take bool) {
	sh := s.shard(s.hash(&t.ID))
	r, kept := sh.rows[t.ID]
	if !kept {
		return
	}
	switch {
	case take:
		r.Charge(t.Bounds(), t.Cost)
	case t.Outcome == quota.NoRights:
		r.Refuse(t.Cost, t.Mark)
	}
	s.answer(&t.QuotaRow, r)
	s.close(&t.QuotaRow)
}
