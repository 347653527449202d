package limiter

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"weir/limiter/quota"
	"weir/limiter/store"
)

// Forwarder brings refunds to the regions that charged; *gossip.Mesh does.
type Forwarder interface {
	// Post hands payload to a node of another region, whose Refunds.Deliver is to
	// get it, once or more often; it is worth nothing after a Unix second. It
	// does not block.
	Post(region string, payload []byte, untilUnix int64) error
}

// ErrElsewhere is wrapped by the error that says that another region gave a
// receipt and nobody brings it there.
var ErrElsewhere = errors.New("given by another region")

// ErrForward is wrapped by the error that says that no more receipts can wait
// for other regions.
var ErrForward = errors.New("cannot be passed on")

// Refunds gives back what was charged. Its methods may be called from any
// goroutine.
type Refunds struct {
	engine   *Engine
	receipts *Receipts
	forward  Forwarder // nil: receipts of other regions are refused
	regions  []string

	counts refundCounts
}

// NewRefunds returns refunds of what the engine charged; regions are the names
// of all. It owns nothing it is given. forward may be nil.
func NewRefunds(e *Engine, r *Receipts, forward Forwarder, regions []string) *Refunds {
	return &Refunds{engine: e, receipts: r, forward: forward, regions: regions}
}

// Refund gives back what a receipt names, up to so many units of each quota; 0
// is the whole cost. It does so once: what is not given back then stays charged.
// Another region's receipt is passed on. Errors wrap ErrReceipt, ErrElsewhere,
// ErrForward or store.ErrUnavailable; after the last it may be asked again.
func (r *Refunds) Refund(ctx context.Context, b []byte, units int64) (Refund, error) {
	got, err := decodeReceipt(b)
	if err != nil {
		r.counts.refused.Add(1)
		return Refund{}, err
	}
	if got.region != r.receipts.region {
		return r.passOn(&got, b, units)
	}
	return r.own(ctx, b, units)
}

// maxForward bounds how long a receipt waits for another region: a period lasts a
// month at most, and what a receipt says of its end is not known to be true here.
const maxForward = 32 * 24 * time.Hour

// passOn passes another region's receipt on, unless it is worth nothing any more.
func (r *Refunds) passOn(got *receipt, b []byte, units int64) (Refund, error) {
	now := r.engine.now()
	switch {
	case !slices.Contains(r.regions, got.region):
		r.counts.refused.Add(1)
		return Refund{}, fmt.Errorf("%w: it names %q, which is no region known here", ErrReceipt, got.region)
	case got.ends() < now.Add(-store.RowGrace).Unix():
		out := Refund{Region: got.region, State: Ended}
		for _, c := range got.charges {
			out.Quotas = append(out.Quotas, RefundedQuota{Rule: c.row.Rule, Key: c.row.Key, State: Ended})
		}
		r.count(&out, nil)
		return out, nil
	case r.forward == nil:
		return Refund{}, fmt.Errorf("%w: bring it to a node of region %q", ErrElsewhere, got.region)
	}
	payload, until := append(binary.AppendVarint(nil, units), b...), min(got.ends(), now.Add(maxForward).Unix())
	if err := r.forward.Post(got.region, payload, until); err != nil {
		return Refund{}, fmt.Errorf("%w to region %q: %w", ErrForward, got.region, err)
	}
	r.counts.forwarded.Add(1)
	return Refund{State: Forwarded, Region: got.region}, nil
}

// Deliver refunds what another region passed on. An error says that it is to
// come again; what is no receipt of this region is dropped and counted.
func (r *Refunds) Deliver(ctx context.Context, payload []byte) error {
	units, n := binary.Varint(payload)
	if n <= 0 || units < 0 {
		r.counts.refused.Add(1)
		return nil
	}
	if _, err := r.own(ctx, payload[n:], units); err != nil && !errors.Is(err, ErrReceipt) {
		return err
	}
	return nil
}

// own refunds a receipt of this region.
func (r *Refunds) own(ctx context.Context, b []byte, units int64) (Refund, error) {
	got, err := r.receipts.open(b)
	if err != nil {
		r.counts.refused.Add(1)
		return Refund{}, err
	}
	if units <= 0 {
		units = quota.MaxUnits
	}
	out := Refund{Region: got.region, State: Ended, Quotas: make([]RefundedQuota, len(got.charges))}
	changes := make([]*store.Change, 0, len(got.charges))
	at := make([]int, 0, len(got.charges)) // changes[i] is of out.Quotas[at[i]]
	for i, c := range got.charges {
		out.Quotas[i] = RefundedQuota{Rule: c.row.Rule, Key: c.row.Key, State: Ended}
		if change := r.change(&got, &c, units); change != nil {
			changes, at = append(changes, change), append(at, i)
		}
	}
	err = r.apply(ctx, changes)
	for i, change := range changes {
		out.Quotas[at[i]].take(change)
	}
	r.count(&out, err)
	return out, err
}

// change makes the change that refunds one charge, nil when its row has ended.
func (r *Refunds) change(got *receipt, c *charge, units int64) *store.Change {
	change := &store.Change{Kind: store.Refund, Units: min(units, c.cost), Request: got.request,
		QuotaRow: store.QuotaRow{Row: c.row, Tag: c.tag, Reign: c.reign}}
	// The rule may be gone or changed since: its bounds only make the answer.
	if q := r.engine.Rules().Rule(c.row.Rule).Quota(); q != nil {
		change.Limit, change.Total = q.Limit, Rights(q)
	}
	r.engine.ledger.View(&change.QuotaRow) // a row that cannot be counted here still can in the store
	if change.Row.Generation != c.row.Generation {
		return nil
	}
	return change
}

// take takes in what the store said. One whose period or reign is over has ended;
// of one that failed nothing is known.
func (q *RefundedQuota) take(c *store.Change) {
	switch {
	case c.Status == store.Failed:
		q.State = 0
	case c.Status == store.Allowed && c.Moved > 0:
		q.State, q.Units = Refunded, c.Moved
	case c.Status == store.Allowed:
		q.State = Already
	}
}

// apply makes the changes; those whose period or reign is over are left so. The
// error wraps store.ErrUnavailable and says that some were not answered.
func (r *Refunds) apply(ctx context.Context, changes []*store.Change) error {
	if len(changes) == 0 {
		return nil
	}
	s := r.engine.store
	s.Apply(ctx, changes)
	// A node may not have heard yet of the reign that a receipt is of.
	var again []*store.Change
	for _, c := range changes {
		if c.Status != store.WrongReign {
			continue
		}
		if err := r.learnReign(ctx, c); err != nil {
			c.Fail(err)
		} else if s.Reign(c.Tag) == c.Reign {
			r.engine.ledger.View(&c.QuotaRow)
			again = append(again, c)
		}
	}
	if len(again) > 0 {
		s.Apply(ctx, again)
	}
	var failed error
	for _, c := range changes {
		switch c.Status {
		case store.Allowed:
			// It stands whether this node believes the reply or not.
			r.engine.ledger.Record(&c.QuotaRow)
		case store.Failed:
			failed = unavailable(c.Err)
		}
	}
	return failed
}

// learnReign has the store say which reign a row is in, by a look.
func (r *Refunds) learnReign(ctx context.Context, c *store.Change) error {
	call := store.Call{Quotas: make([]store.QuotaTake, 1)}
	for range maxAsks {
		call.Quotas[0] = store.QuotaTake{QuotaRow: store.QuotaRow{Row: c.Row, ID: c.ID, Tag: c.Tag, Limit: c.Limit}}
		call.Quotas[0].Reign = r.engine.store.Reign(c.Tag)
		r.engine.store.Decide(ctx, []*store.Call{&call})
		if call.Status != store.WrongReign {
			break
		}
	}
	if call.Status == store.Failed {
		return call.Err
	}
	return nil
}

func unavailable(err error) error {
	if errors.Is(err, store.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}
