package limiter

import (
	"context"
	"errors"
	"time"

	"weir/limiter/store"
)

// GiveBack gives units back to every refundable quota that a request meets,
// without a receipt: Request.Cost to each, but no more than this region took of
// its key in this period and in its store's present reign. Asked twice it does
// so twice. It returns what was given back in all. The error wraps
// store.ErrUnavailable; what it was of may have been given back.
func (r *Refunds) GiveBack(ctx context.Context, req *Request) (units int64, err error) {
	p := r.engine.plan()
	defer r.engine.release(p)
	p.add(req)
	takes := p.refundable()
	for asks := 0; asks < maxAsks && len(takes) > 0; asks++ {
		changes := r.bareChanges(p, takes)
		r.engine.store.Apply(ctx, changes)
		var again []int
		for i, c := range changes {
			switch c.Status {
			case store.Allowed:
				r.engine.ledger.Record(&c.QuotaRow) // it stands, believed or not
				units += c.Moved
			case store.WrongPeriod:
				p.reperiod(time.UnixMicro(c.NowUs))
				again = append(again, takes[i])
			case store.WrongReign:
				again = append(again, takes[i])
			case store.Failed, store.Denied:
				err = unavailable(c.Err)
			}
		}
		takes = again
	}
	if len(takes) > 0 && err == nil {
		err = unavailable(errUnsettled)
	}
	r.counts.units.Add(units)
	if err != nil {
		r.counts.failed.Add(1)
	}
	return units, err
}

var errUnsettled = errors.New("its period or reign changed while it was asked")

// refundable lists the plan's takes that may be given back.
func (p *plan) refundable() (takes []int) {
	for i := range p.parts {
		part := &p.parts[i]
		if part.limit.Quota != nil && part.limit.Quota.Refundable && p.call.Quotas[part.take].Cost > 0 {
			takes = append(takes, part.take)
		}
	}
	return takes
}

func (r *Refunds) bareChanges(p *plan, takes []int) []*store.Change {
	changes := make([]*store.Change, len(takes))
	for i, take := range takes {
		t := &p.call.Quotas[take]
		c := &store.Change{Kind: store.Refund, Units: t.Cost, QuotaRow: t.QuotaRow}
		c.Reign = r.engine.store.Reign(c.Tag)
		r.engine.ledger.View(&c.QuotaRow) // a row that cannot be counted here still can in the store
		changes[i] = c
	}
	return changes
}
