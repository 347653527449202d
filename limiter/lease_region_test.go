package limiter

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"weir/limiter/rule"
	"weir/limiter/store"
	"weir/limiter/store/embedded"
)

const leaseRules = `
rules:
  - {name: daily, count_by: [user], quota: 10000/day, overshoot: 0%, refundable: true}
  - {name: org, count_by: [org], quota: 40000/day, overshoot: 0%}
  - {name: mixed, count_by: [mixed], limit: 1000/s, quota: 10000/day}
`

// leaseRegion is a region of several nodes with one store, on a clock of its own.
type leaseRegion struct {
	t      require
	store  *flaky
	ledger *worldLedger
	nowUs  atomic.Int64
	nodes  []*leaseNode
}

type leaseNode struct {
	engine *Engine
	leases *Leases
}

// require is what *testing.T and *rapid.T have in common.
type require interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

func newLeaseRegion(t require, nodes int, options LeaseOptions) *leaseRegion {
	r := &leaseRegion{t: t, ledger: &worldLedger{}}
	r.nowUs.Store(noon)
	r.store = &flaky{Store: r.newStore()}
	for i := range nodes {
		r.nodes = append(r.nodes, r.newNode(fmt.Sprintf("node-%d", i), options))
	}
	return r
}

func (r *leaseRegion) newStore() *embedded.Store {
	return embedded.New(embedded.Options{Now: r.nowUs.Load})
}

func (r *leaseRegion) now() time.Time { return time.UnixMicro(r.nowUs.Load()) }

func (r *leaseRegion) newNode(name string, o LeaseOptions) *leaseNode {
	rules, err := rule.Parse("rules.yaml", []byte(leaseRules))
	if err != nil {
		r.t.Fatalf("rules: %v", err)
	}
	o.Node, o.Store, o.Ledger, o.Now = name, r.store, r.ledger, r.now
	n := &leaseNode{engine: NewEngine(rules, r.store, r.ledger, r.now), leases: NewLeases(o)}
	n.engine.UseLeases(n.leases)
	return n
}

func (r *leaseRegion) pass(d time.Duration) { r.nowUs.Add(d.Microseconds()) }

// work does what Run would do now.
func (n *leaseNode) work() {
	for len(n.leases.asks) > 0 {
		n.leases.attend(context.Background(), n.leases.waiting(<-n.leases.asks))
	}
	n.leases.sweep(context.Background())
}

func (n *leaseNode) check(cost int64, attrs ...string) Decision {
	return n.engine.Check(context.Background(), ask(cost, attrs...))
}

// heat checks until the node has a lease on a user's quota.
func (r *leaseRegion) heat(n *leaseNode, user string) (allowed int64) {
	r.t.Helper()
	for range 2 * int(n.leases.hot) {
		if n.check(1, "user", user).Allowed {
			allowed++
		}
		n.work()
		if row := n.row("daily", user); row != nil && row.live {
			return allowed
		}
	}
	r.t.Fatalf("no lease after %d checks", allowed)
	return allowed
}

// row finds the leased row of a key.
func (n *leaseNode) row(rule, key string) (found *leaseRow) {
	n.leases.each(func(_ *leaseShard, row *leaseRow) {
		if row.base.Row.Rule == rule && row.base.Row.Key == key {
			found = row
		}
	})
	return found
}

// net is what the store says was taken of a row, less what was given back.
func (r *leaseRegion) net(rule, key string) (units int64) {
	err := r.store.Rows(context.Background(), func(rows []store.Row) error {
		for _, row := range rows {
			for _, e := range row.Entries {
				if row.Name.Rule == rule && row.Name.Key == key {
					units += e.Net()
				}
			}
		}
		return nil
	})
	if err != nil {
		r.t.Fatalf("rows: %v", err)
	}
	return units
}

// worldLedger names rows, and says what others took and how much the region may.
type worldLedger struct {
	mu         sync.Mutex
	elsewhere  int64
	allotted   int64 // where it is not 0
	generation uint32
	disbelieve int // so many answers are lost
}

func (w *worldLedger) View(q *store.QuotaRow) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	q.Row.Generation = w.generation
	sum := sha256.Sum256(fmt.Appendf(nil, "%v", q.Row))
	q.ID, q.Elsewhere, q.Allotted = store.ID(sum[:16]), w.elsewhere, q.Total
	if w.allotted > 0 {
		q.Allotted = w.allotted
	}
	return true
}

func (w *worldLedger) Record(*store.QuotaRow) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.disbelieve--
	return w.disbelieve < 0
}

func (w *worldLedger) Mark(*store.QuotaRow) bool                { return false }
func (w *worldLedger) Refused(*store.QuotaRow)                  {}
func (w *worldLedger) RightsWait(*store.QuotaRow) time.Duration { return time.Second }

// flaky is a store that can be away, and whose replies can get lost.
type flaky struct {
	*embedded.Store
	down    bool
	decide  func([]*store.Call) // instead of the store, where it is set
	lose    func(*store.Change) loss
	decided atomic.Int64
	applied []store.ChangeKind
}

type loss uint8

const (
	lossNone   loss = iota
	lossBefore      // the call does not arrive
	lossAfter       // the reply does not
)

func (f *flaky) Decide(ctx context.Context, calls []*store.Call) {
	f.decided.Add(1)
	if f.down {
		for _, c := range calls {
			c.Fail(store.ErrUnavailable)
		}
		return
	}
	if f.decide != nil {
		f.decide(calls)
		return
	}
	f.Store.Decide(ctx, calls)
}

func (f *flaky) Apply(ctx context.Context, changes []*store.Change) {
	if f.lose == nil && !f.down {
		f.Store.Apply(ctx, changes)
		return
	}
	for _, c := range changes {
		f.applied = append(f.applied, c.Kind)
		lost := lossBefore
		if !f.down {
			lost = f.lose(c)
		}
		if lost != lossBefore {
			f.Store.Apply(ctx, []*store.Change{c})
		}
		if lost != lossNone {
			c.Fail(store.ErrUnavailable)
			c.Moved = 0
		}
	}
}

func (f *flaky) Ready(ctx context.Context) error {
	if f.down {
		return store.ErrUnavailable
	}
	return f.Store.Ready(ctx)
}
