package embedded

import (
	"context"

	"weir/limiter/store"
)

// Apply implements store.Store.
func (s *Store) Apply(ctx context.Context, changes []*store.Change) {
	late := ctx.Err()
	for _, c := range changes {
		if late != nil {
			c.Fail(late)
			continue
		}
		if err := c.Check(); err != nil {
			c.Fail(err)
			continue
		}
		s.apply(c)
	}
}

func (s *Store) apply(c *store.Change) {
	c.Err, c.Moved = nil, 0
	sh := s.shard(s.hash(&c.ID))
	sh.mu.Lock()
	defer sh.mu.Unlock()
	c.NowUs = s.now()
	switch {
	case !s.inReign(&c.QuotaRow):
		c.Status = store.WrongReign
		return
	case !c.Row.Within(c.NowUs):
		c.Status = store.WrongPeriod
		return
	}
	c.Status = store.Allowed
	r := s.open(&c.QuotaRow, true, c.NowUs)
	if !c.Full {
		c.Moved = change(r, c)
	}
	s.answer(&c.QuotaRow, r)
	s.close(&c.QuotaRow)
}

// change makes the change and returns how many units moved.
func change(r *row, c *store.Change) (moved int64) {
	switch c.Kind {
	case store.Give:
		return r.Give(c.Bounds(), c.To, c.Units, c.Keep)
	case store.Refund:
		return r.Refund(c.Request, c.Units)
	case store.Grant:
		r.Own = r.Own.Grant(c.Units)
		return c.Units
	case store.TakeLease:
		return r.TakeLease(c.Bounds(), c.Node, c.Request, c.Units, c.NowUs)
	case store.ReturnLease:
		return r.ReturnLease(c.Node, c.Request, c.Units)
	case store.Open:
		r.Open()
	}
	return 0
}

// Cancel implements store.Store: nothing is lost on the way to this store, so
// the call's own answer says what it charged.
func (s *Store) Cancel(c *store.Call) {
	if c.Status != store.Allowed {
		return
	}
	for i := range c.Quotas {
		if t := &c.Quotas[i]; t.Cost > 0 && t.Reign == s.reign {
			s.takeBack(t)
		}
	}
}

func (s *Store) takeBack(t *store.QuotaTake) {
	sh := s.shard(s.hash(&t.ID))
	sh.mu.Lock()
	r, kept := sh.rows[t.ID]
	if kept {
		r.Return(t.Cost)
		s.answer(&t.QuotaRow, r)
	}
	sh.mu.Unlock()
	if kept && s.settled != nil {
		s.settled(&t.QuotaRow)
	}
}
