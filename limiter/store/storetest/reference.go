package storetest

import (
	"cmp"
	"slices"

	"weir/limiter/bucket"
	"weir/limiter/quota"
	"weir/limiter/store"
)

// Reference decides calls one after the other, at the instants it is told. It
// holds everything for ever and is as simple as the rules allow.
type Reference struct {
	reign   store.Reign
	buckets map[store.ID]bucket.State
	rows    map[store.ID]*quota.Row
}

// NewReference returns an empty one in that reign.
func NewReference(reign store.Reign) *Reference {
	return &Reference{reign: reign, buckets: make(map[store.ID]bucket.State), rows: make(map[store.ID]*quota.Row)}
}

// Decide fills a call's answers as the store must at that instant.
func (r *Reference) Decide(c *store.Call, nowUs int64) {
	c.NowUs, c.Err = nowUs, nil
	if c.Status = r.refusal(c); c.Status != store.Failed {
		return
	}
	c.Status = store.Allowed
	for i := range c.Buckets {
		t := &c.Buckets[i]
		t.State = t.Rate.Settle(r.buckets[t.ID], nowUs)
		if _, t.Fits = t.Rate.Take(t.State, nowUs, t.Cost); !t.Fits {
			c.Status = store.Denied
		}
	}
	for i := range c.Quotas {
		t := &c.Quotas[i]
		row := r.open(&t.QuotaRow)
		if t.Outcome = row.Try(t.Bounds(), t.Cost); t.Outcome != quota.Fits {
			c.Status = store.Denied
		}
	}
	r.finish(c)
}

func (r *Reference) refusal(c *store.Call) store.Status {
	refused := store.Failed
	for i := range c.Quotas {
		refused = max(refused, r.refusalOf(&c.Quotas[i].QuotaRow, c.NowUs))
	}
	return refused
}

func (r *Reference) refusalOf(q *store.QuotaRow, nowUs int64) store.Status {
	switch {
	case q.Reign != 0 && q.Reign != r.reign:
		return store.WrongReign
	case nowUs < q.Row.Start*1e6 || nowUs >= q.Row.End*1e6:
		return store.WrongPeriod
	}
	return store.Failed
}

// Apply makes a change as the store must at that instant.
func (r *Reference) Apply(c *store.Change, nowUs int64) {
	c.NowUs, c.Err, c.Moved = nowUs, nil, 0
	if c.Status = r.refusalOf(&c.QuotaRow, nowUs); c.Status != store.Failed {
		return
	}
	c.Status = store.Allowed
	row := r.open(&c.QuotaRow)
	switch c.Kind {
	case store.Give:
		c.Moved = row.Give(c.Bounds(), c.To, c.Units, c.Keep)
	case store.Refund:
		c.Moved = row.Refund(c.Request, c.Units)
	case store.Grant:
		c.Moved = c.Units
		row.Own = row.Own.Grant(c.Units)
	case store.TakeLease:
		c.Moved = row.TakeLease(c.Bounds(), c.Node, c.Request, c.Units, nowUs)
	case store.ReturnLease:
		c.Moved = row.ReturnLease(c.Node, c.Request, c.Units)
	case store.Open:
		row.Open()
	}
	r.answer(&c.QuotaRow, row)
	if row.IsEmpty() {
		delete(r.rows, c.ID) // nothing is remembered of a row that is not there
	}
}

// open returns the row with what the caller knows of earlier replicas.
func (r *Reference) open(q *store.QuotaRow) *quota.Row {
	row := r.rows[q.ID]
	if row == nil {
		row = new(quota.Row)
		r.rows[q.ID] = row
	}
	for _, e := range q.Earlier {
		if e.Reign != r.reign {
			row.Merge(uint64(e.Reign), e.Count)
		}
	}
	return row
}

func (r *Reference) finish(c *store.Call) {
	allowed := c.Status == store.Allowed
	for i := range c.Buckets {
		t := &c.Buckets[i]
		if allowed {
			t.State, _ = t.Rate.Take(t.State, c.NowUs, t.Cost)
		}
		if t.Cost > 0 {
			r.buckets[t.ID] = t.State
		}
	}
	for i := range c.Quotas {
		t := &c.Quotas[i]
		row := r.rows[t.ID]
		if allowed {
			row.Charge(t.Bounds(), t.Cost)
		}
		if t.Outcome == quota.NoRights {
			row.Refuse(t.Cost, t.Mark)
		}
		r.answer(&t.QuotaRow, row)
	}
}

func (r *Reference) answer(q *store.QuotaRow, row *quota.Row) {
	sums := row.Sums()
	q.Reign, q.RegionNet, q.RegionRights = r.reign, sums.Net, sums.Rights(q.Bounds())
	q.Entry = store.Entry{Reign: r.reign, Count: row.Own}
}

// Entries lists what the row holds, in order of reign.
func (r *Reference) Entries(id store.ID) (list []store.Entry) {
	row := r.rows[id]
	if row == nil {
		return nil
	}
	if row.Own.Version > 0 {
		list = append(list, store.Entry{Reign: r.reign, Count: row.Own})
	}
	for _, e := range row.Earlier {
		list = append(list, store.Entry{Reign: store.Reign(e.Nonce), Count: e.Count})
	}
	SortEntries(list)
	return list
}

// SortEntries sorts entries by reign.
func SortEntries(list []store.Entry) {
	slices.SortFunc(list, func(a, b store.Entry) int { return cmp.Compare(a.Reign, b.Reign) })
}
