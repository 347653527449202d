package limiter

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"weir/limiter/quota"
	"weir/limiter/rule"
	"weir/limiter/store"
)

// Engine decides checks. Make it with NewEngine; its methods may be called
// from any goroutine.
type Engine struct {
	store  store.Store
	ledger Ledger
	now    func() time.Time
	rules  atomic.Pointer[rule.Set]
	plans  sync.Pool
	full   atomic.Uint64

	// Requests are named by this process and a number.
	process     uint64
	requests    atomic.Uint64
	disbelieved atomic.Uint64

	receipts *Receipts // nil: none are given
	leases   *Leases   // nil: there are none
}

// NewEngine returns an engine that decides by the rules, in the store, knowing
// of the world what the ledger knows. It owns neither. The clock is used only
// to name a quota's period; the store's clock decides.
func NewEngine(rules *rule.Set, s store.Store, l Ledger, now func() time.Time) *Engine {
	e := &Engine{store: s, ledger: l, now: now, process: rand.Uint64()}
	e.plans.New = func() any {
		p := new(plan)
		p.alone[0] = p
		return p
	}
	e.rules.Store(rules)
	return e
}

// GiveReceipts has the engine give receipts from now on. It is called before the
// first check.
func (e *Engine) GiveReceipts(r *Receipts) { e.receipts = r }

// Rules returns the rules in force.
func (e *Engine) Rules() *rule.Set { return e.rules.Load() }

// Disbelieved counts the answers of the store that came after an exchange with
// other nodes had begun, and were taken for lost.
func (e *Engine) Disbelieved() uint64 { return e.disbelieved.Load() }

// name names a call that charges quotas. Asked again it is another call.
func (e *Engine) name(c *store.Call) {
	if len(c.Quotas) == 0 {
		return
	}
	binary.BigEndian.PutUint64(c.Request[:8], e.process)
	binary.BigEndian.PutUint64(c.Request[8:], e.requests.Add(1))
}

// Full counts the limits of checks that met a store which holds as many keys as
// it may: buckets let through uncounted, quotas denied.
func (e *Engine) Full() uint64 { return e.full.Load() }

// Check decides one request.
func (e *Engine) Check(ctx context.Context, req *Request) Decision {
	var d [1]Decision
	p := e.plan()
	p.add(req)
	e.decide(ctx, p.alone[:])
	p.answer(d[:])
	d[0].Receipt = e.receipt(p)
	e.release(p)
	return d[0]
}

// CheckBatch decides many requests, each on its own, in one round trip.
func (e *Engine) CheckBatch(ctx context.Context, reqs []Request) []Decision {
	answers := make([]Decision, len(reqs))
	plans := make([]*plan, len(reqs))
	for i := range reqs {
		plans[i] = e.plan()
		plans[i].add(&reqs[i])
	}
	e.decide(ctx, plans)
	for i, p := range plans {
		p.answer(answers[i : i+1])
		answers[i].Receipt = e.receipt(p)
		e.release(p)
	}
	return answers
}

// CheckTogether decides many requests as one: if any is denied, none is
// charged. Each still gets its own answer, as if the others had passed, and no
// receipt.
func (e *Engine) CheckTogether(ctx context.Context, reqs []Request) []Decision {
	answers := make([]Decision, len(reqs))
	p := e.plan()
	for i := range reqs {
		p.add(&reqs[i])
	}
	e.decide(ctx, p.alone[:])
	p.answer(answers)
	e.release(p)
	return answers
}

func (e *Engine) plan() *plan {
	p := e.plans.Get().(*plan) //nolint:forcetypeassert // New makes nothing else
	p.reset(e.rules.Load(), e.now())
	return p
}

func (e *Engine) release(p *plan) {
	p.forget()
	e.plans.Put(p)
}

// Budget is how long a check may wait for the store, in all.
const Budget = 50 * time.Millisecond

// maxAsks bounds how often one check asks: once, and once more each for a
// period that the store's clock contradicts and a reign that began meanwhile.
const maxAsks = 3

// decide decides all plans: from leases what they cover, else in the store. What
// the store did not decide may be covered by now.
func (e *Engine) decide(ctx context.Context, plans []*plan) {
	if len(plans) == 0 {
		return
	}
	e.spend(plans)
	e.askAll(ctx, plans)
	e.spend(plans)
}

// askAll asks the store once for all plans, and again for those that it did
// not decide because they rest on a period or a reign that is not its own.
func (e *Engine) askAll(ctx context.Context, plans []*plan) {
	e.ask(ctx, plans)
	again := undecided(plans)
	if len(again) == 0 {
		return
	}
	// However often it asks, a check waits for the store no longer than a call
	// may.
	ctx, cancel := context.WithTimeout(ctx, Budget-e.now().Sub(plans[0].began))
	defer cancel()
	for asks := 1; asks < maxAsks && len(again) > 0; asks++ {
		e.ask(ctx, again)
		again = undecided(again)
	}
}

func undecided(plans []*plan) (again []*plan) {
	for _, p := range plans {
		if !p.asked() {
			continue
		}
		switch p.call.Status {
		case store.WrongPeriod:
			p.reperiod(time.UnixMicro(p.call.NowUs))
			again = append(again, p)
		case store.WrongReign:
			again = append(again, p)
		}
	}
	return again
}

// ask asks the store once for all plans; there is at least one.
func (e *Engine) ask(ctx context.Context, plans []*plan) {
	calls := plans[0].calls[:0] // room that the pool keeps
	for _, p := range plans {
		if !p.asked() {
			continue
		}
		p.view(e.store, e.ledger)
		e.name(&p.call)
		calls = append(calls, &p.call)
	}
	plans[0].calls = calls
	if len(calls) == 0 {
		return
	}
	e.store.Decide(ctx, calls)
	for _, p := range plans {
		if p.asked() && p.decided() {
			p.refuse()
			e.record(p)
		}
	}
}

// record takes in what the store answered. An answer that may not be believed is
// none: the store takes back what it charged.
func (e *Engine) record(p *plan) {
	c := &p.call
	for i := range c.Buckets {
		if c.Buckets[i].Full {
			e.full.Add(1)
		}
	}
	believed := true
	for i := range c.Quotas {
		t := &c.Quotas[i]
		if t.Full {
			e.full.Add(1)
			continue
		}
		believed = e.ledger.Record(&t.QuotaRow) && believed
		if t.Outcome == quota.NoRights {
			e.ledger.Refused(&t.QuotaRow)
			p.rightsWait = max(p.rightsWait, e.ledger.RightsWait(&t.QuotaRow))
		}
	}
	if !believed {
		e.store.Cancel(c)
		c.Fail(errNotBelieved)
		e.disbelieved.Add(1)
		return
	}
	if e.leases != nil {
		e.leases.met(c, p.began)
	}
}

// errNotBelieved: an exchange of the region's nodes came between a call and its
// answer.
var errNotBelieved = fmt.Errorf("%w: its nodes were agreeing on a new reign", store.ErrUnavailable)
