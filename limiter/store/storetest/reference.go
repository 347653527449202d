package storetest

import (
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
	rows    map[store.ID]map[store.Reign]quota.Count
}

// NewReference returns an empty one in that reign.
func NewReference(reign store.Reign) *Reference {
	return &Reference{reign: reign, buckets: make(map[store.ID]bucket.State), rows: make(map[store.ID]map[store.Reign]quota.Count)}
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
		r.merge(t)
		if t.Fits = t.Cost == 0 || t.Elsewhere+r.net(t.ID)+t.Cost <= t.Limit; !t.Fits {
			c.Status = store.Denied
		}
	}
	r.finish(c)
}

func (r *Reference) refusal(c *store.Call) store.Status {
	for i := range c.Quotas {
		if t := &c.Quotas[i]; t.Reign != 0 && t.Reign != r.reign {
			return store.WrongReign
		}
	}
	for i := range c.Quotas {
		if row := c.Quotas[i].Row; c.NowUs < row.Start*1e6 || c.NowUs >= row.End*1e6 {
			return store.WrongPeriod
		}
	}
	return store.Failed
}

func (r *Reference) merge(t *store.QuotaTake) {
	if r.rows[t.ID] == nil {
		r.rows[t.ID] = make(map[store.Reign]quota.Count)
	}
	for _, e := range t.Earlier {
		if e.Reign != r.reign {
			have := r.rows[t.ID][e.Reign]
			r.rows[t.ID][e.Reign] = have.Merge(quota.Count{Version: e.Version, Taken: e.Taken, Returned: e.Returned})
		}
	}
}

func (r *Reference) net(id store.ID) (sum int64) {
	for _, c := range r.rows[id] {
		sum += c.Taken - c.Returned
	}
	return sum
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
		own := r.rows[t.ID][r.reign]
		if allowed && t.Cost > 0 {
			own = own.Take(t.Cost)
			r.rows[t.ID][r.reign] = own
		}
		t.Reign, t.RegionNet = r.reign, r.net(t.ID)
		t.Entry = store.Entry{Reign: r.reign, Version: own.Version, Taken: own.Taken, Returned: own.Returned}
	}
}

// Entries lists what the row holds, in order of reign.
func (r *Reference) Entries(id store.ID) (list []store.Entry) {
	for reign, c := range r.rows[id] {
		if c.Version > 0 {
			list = append(list, store.Entry{Reign: reign, Version: c.Version, Taken: c.Taken, Returned: c.Returned})
		}
	}
	SortEntries(list)
	return list
}

// SortEntries sorts entries by reign.
func SortEntries(list []store.Entry) {
	slices.SortFunc(list, func(a, b store.Entry) int {
		switch {
		case a.Reign < b.Reign:
			return -1
		case a.Reign > b.Reign:
			return 1
		}
		return 0
	})
}
