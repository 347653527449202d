package limiter

import (
	"time"

	"weir/limiter/quota"
	"weir/limiter/rule"
	"weir/limiter/store"
)

// plan is one call to the store in the making, and the way back from its
// answers to the requests. Plans are pooled: everything in them is reused.
type plan struct {
	rules *rule.Set
	began time.Time
	now   time.Time // names the period: the node's at first, then the store's
	call  store.Call
	parts []part
	// leased: the call was decided from leases.
	leased bool
	// refused are the quotas that the node cannot count: the call only looks.
	refused []int
	// rightsWait is how long to wait for rights, of the quotas that lack them.
	rightsWait time.Duration
	ends       []int // parts[ends[i-1]:ends[i]] belong to request i

	alone   [1]*plan      // the plan itself, as the engine decides lists of plans
	calls   []*store.Call // room for the engine
	matched []*rule.Rule
	id      identity
}

// part is one limit of one request: where its take stands in the call.
type part struct {
	rule    *rule.Rule
	limit   *rule.Limit
	key     string
	take    int // in call.Quotas when limit.Quota is set, else in call.Buckets
	explain bool
}

func (p *plan) reset(rules *rule.Set, now time.Time) {
	p.rules, p.began, p.now, p.leased = rules, now, now, false
	p.call.Buckets, p.call.Quotas = p.call.Buckets[:0], p.call.Quotas[:0]
	p.call.Status, p.call.Err, p.call.Request = store.Failed, nil, quota.RequestID{}
	p.parts, p.ends, p.refused, p.rightsWait = p.parts[:0], p.ends[:0], p.refused[:0], 0
}

// forget drops what would keep a request's strings alive in the pool.
func (p *plan) forget() {
	clear(p.call.Quotas)
	clear(p.parts)
	clear(p.calls[:cap(p.calls)])
	p.rules = nil
}

// asked says whether there is something to ask the store.
func (p *plan) asked() bool { return len(p.parts) > 0 && !p.leased }

// decided says whether the store's answers stand.
func (p *plan) decided() bool {
	return p.call.Status == store.Allowed || p.call.Status == store.Denied
}

// add plans one request.
func (p *plan) add(req *Request) {
	attrs := rule.Attributes(req.Attributes)
	p.matched = p.rules.Match(attrs, p.matched[:0])
	for _, r := range p.matched {
		key := r.Key(attrs)
		tag := p.id.tag(r.Subject(attrs))
		for i := range r.Limits {
			l := &r.Limits[i]
			part := part{rule: r, limit: l, key: key, explain: req.Explain}
			if l.Quota != nil {
				part.take = p.quota(r, l, key, tag, req.Cost)
			} else {
				part.take = p.bucket(r, l, i, key, tag, req.Cost)
			}
			p.parts = append(p.parts, part)
		}
	}
	p.ends = append(p.ends, len(p.parts))
}

// bucket adds a take, or its cost to the take that is already there.
func (p *plan) bucket(r *rule.Rule, l *rule.Limit, i int, key string, tag uint16, cost int64) int {
	id := p.id.bucket(r, i, key)
	for n := range p.call.Buckets {
		if t := &p.call.Buckets[n]; t.ID == id {
			t.Cost = capped(t.Cost+cost, l.Bucket.Burst)
			return n
		}
	}
	p.call.Buckets = append(p.call.Buckets, store.BucketTake{
		ID: id, Tag: tag, Rate: l.Bucket, Cost: capped(cost, l.Bucket.Burst)})
	return len(p.call.Buckets) - 1
}

// capped keeps a cost that can never fit small enough for exact arithmetic.
func capped(cost, burst int64) int64 { return min(cost, burst+1) }

func (p *plan) quota(r *rule.Rule, l *rule.Limit, key string, tag uint16, cost int64) int {
	row := store.RowName{Rule: r.Name, Key: key}
	row.Start, row.End = l.Quota.Period(p.now)
	for n := range p.call.Quotas {
		if t := &p.call.Quotas[n]; t.Row.Rule == row.Rule && t.Row.Key == row.Key {
			t.Cost += cost
			return n
		}
	}
	p.call.Quotas = append(p.call.Quotas, store.QuotaTake{Cost: cost,
		QuotaRow: store.QuotaRow{Row: row, Tag: tag, Limit: l.Quota.Limit, Total: Rights(l.Quota)}})
	return len(p.call.Quotas) - 1
}

// view fills in what the ledger knows. If it cannot count one of the quotas,
// nothing may be charged: the call becomes a look, and stays one however often
// it is asked.
func (p *plan) view(s store.Store, l Ledger) {
	for i := range p.call.Quotas {
		take := &p.call.Quotas[i]
		take.Reign = s.Reign(take.Tag)
		if !l.View(&take.QuotaRow) {
			p.refused = append(p.refused, i)
		}
		take.Mark = l.Mark(&take.QuotaRow)
	}
	if len(p.refused) == 0 {
		return
	}
	for i := range p.call.Buckets {
		p.call.Buckets[i].Cost = 0
	}
	for i := range p.call.Quotas {
		p.call.Quotas[i].Cost = 0
	}
}

// refuse denies a call whose look succeeded for the quotas that cannot be
// counted.
func (p *plan) refuse() {
	for _, i := range p.refused {
		take := &p.call.Quotas[i]
		take.Outcome, take.Full = quota.Exhausted, true
		p.call.Status = store.Denied
	}
}

// reperiod moves every quota to the period the store's clock is in.
func (p *plan) reperiod(now time.Time) {
	p.now = now
	for i := range p.parts {
		part := &p.parts[i]
		if part.limit.Quota == nil {
			continue
		}
		t := &p.call.Quotas[part.take]
		t.Row.Start, t.Row.End = part.limit.Quota.Period(now)
	}
}

// answer writes each request's decision.
func (p *plan) answer(out []Decision) {
	from := 0
	for i := range out {
		out[i] = p.decision(p.parts[from:p.ends[i]])
		from = p.ends[i]
	}
}

func (p *plan) decision(parts []part) Decision {
	if len(parts) == 0 {
		return Decision{Allowed: true, DecidedBy: DecidedByNoRule}
	}
	d := Decision{Allowed: true}
	switch {
	case p.leased:
		d.DecidedBy = DecidedByLease
	case !p.decided():
		d.DecidedBy = DecidedByClosed
	}
	for i := range parts {
		s := p.status(&parts[i])
		d.Allowed = d.Allowed && s.Fits
		if i == 0 || stricter(&s, &d.Status) {
			d.Status = s
		}
		if parts[i].explain {
			d.Limits = append(d.Limits, s)
		}
	}
	return d
}

// unavailableRetry is what a client is told to wait when the store is away:
// about as long as a short outage lasts.
const unavailableRetry = time.Second

func (p *plan) status(part *part) Status {
	s := Status{Rule: part.rule.Name, Key: part.key}
	if len(part.rule.CountBy) > 0 {
		s.CountBy = part.rule.CountBy[0]
	}
	failed := !p.decided()
	if part.limit.Quota != nil {
		p.quotaStatus(&s, part, failed)
	} else {
		p.bucketStatus(&s, part, failed)
	}
	if failed {
		s.Reason, s.RetryAfter, s.Remaining = ReasonStoreUnavailable, unavailableRetry, 0
	}
	return s
}

func (p *plan) bucketStatus(s *Status, part *part, failed bool) {
	rate := part.limit.Bucket
	s.Kind, s.Limit, s.Window, s.Burst = KindBucket, rate.Count, rate.Window, rate.Burst
	if failed {
		return
	}
	t := &p.call.Buckets[part.take]
	s.Fits = t.Fits
	s.Remaining = rate.Remaining(t.State, p.call.NowUs)
	whole := max(t.State.FullAtUs, p.call.NowUs)
	s.Reset = seconds(whole)
	s.UntilReset = time.Duration(whole-p.call.NowUs) * time.Microsecond
	switch {
	case t.Fits:
	case t.Cost > rate.Burst:
		s.Reason = ReasonCostExceedsLimit
	default:
		s.Reason = ReasonLimitExceeded
		s.RetryAfter = time.Duration(rate.WaitUs(t.State, p.call.NowUs, t.Cost)) * time.Microsecond
	}
}

func (p *plan) quotaStatus(s *Status, part *part, failed bool) {
	t := &p.call.Quotas[part.take]
	s.Kind, s.Limit, s.Burst, s.Reset = KindQuota, t.Limit, t.Limit, t.Row.End
	s.Window = time.Duration(t.Row.End-t.Row.Start) * time.Second
	if failed {
		return
	}
	s.Fits = t.Outcome == quota.Fits
	s.Remaining = max(0, t.Limit-t.Elsewhere-t.RegionNet)
	s.UntilReset = time.Duration(max(0, t.Row.End*1e6-p.call.NowUs)) * time.Microsecond
	switch {
	case s.Fits:
	case t.Full:
		s.Reason, s.RetryAfter = ReasonCapacity, unavailableRetry
	case t.Cost > t.Limit:
		s.Reason = ReasonCostExceedsLimit
	case t.Outcome == quota.NoRights:
		s.Reason, s.RetryAfter = ReasonQuotaRightsExhausted, min(p.rightsWait, s.UntilReset)
	default:
		s.Reason, s.RetryAfter = ReasonQuotaExhausted, s.UntilReset
	}
}

// seconds rounds an instant in microseconds up to Unix seconds.
func seconds(us int64) int64 { return (us + 999_999) / 1_000_000 }

// Rights is what all regions together may let through of a quota, in units:
// ⌊Q + ε⌋, or quota.Unbounded.
func Rights(q *rule.Quota) int64 {
	if q.Overshoot.Unbounded {
		return quota.Unbounded
	}
	return min(q.Overshoot.Total(q.Limit), quota.Unbounded-1)
}
