package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/stats"

	weirv1 "weir/proto/weir/v1"
)

// load is the clients: a few for each region, each with one call at a time to
// its node, or to another of its region while that is not open.
type load struct {
	world *world
	// gate is held by each call for reading: who has it for writing knows that
	// nothing is in flight.
	gate   sync.RWMutex
	paused time.Time // since when nothing is asked
	// usedUp are the quotas that every node knew to be used up when all last
	// agreed. Written while nothing is in flight.
	usedUp map[pot]bool
	step   atomic.Int64
	broken atomic.Bool // whether a fault lasts

	mu       sync.Mutex
	problems []string
}

const (
	clientsPerRegion = 6
	callInterval     = 40 * time.Millisecond
	hotInterval      = 8 * time.Millisecond
	callTimeout      = 2 * time.Second
	maxProblems      = 20
)

func newLoad(w *world) *load { return &load{world: w} }

// run calls until the context ends. One more client of each region asks for the
// hot key.
func (l *load) run(ctx context.Context, seed uint64) {
	var clients sync.WaitGroup
	for i, r := range l.world.regions {
		for j := range clientsPerRegion {
			random := rand.New(rand.NewPCG(seed, uint64(1+i*clientsPerRegion+j)))
			clients.Go(func() {
				l.client(ctx, r, j, callInterval, func() question {
					return newQuestion(r, i, l.step.Load(), l.broken.Load(), random)
				})
			})
		}
		clients.Go(func() {
			l.client(ctx, r, i, hotInterval, func() question { return hotQuestion(l.step.Load()) })
		})
	}
	clients.Wait()
}

func (l *load) client(ctx context.Context, r *region, number int, interval time.Duration, next func() question) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if n := r.openNode(number); n != nil {
			l.gate.RLock()
			l.call(n, next())
			l.gate.RUnlock()
		}
	}
}

// openNode is the first open one from the given number on; nil is none.
func (r *region) openNode(first int) *node {
	for i := range r.nodes {
		if n := r.nodes[(first+i)%len(r.nodes)]; n.open.Load() {
			return n
		}
	}
	return nil
}

// pause returns when nothing is in flight; until resume nothing is asked.
func (l *load) pause() {
	l.gate.Lock()
	l.paused = time.Now()
}

func (l *load) resume() {
	now := time.Now()
	for _, n := range l.world.nodes() {
		n.tally.rest(l.paused, now)
	}
	l.gate.Unlock()
}

// settleInFlight returns when every call that was in flight has ended.
func (l *load) settleInFlight() {
	l.pause()
	l.resume()
}

// call asks and keeps the answer in the ledger.
func (l *load) call(n *node, q question) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	sent := new(atomic.Bool)
	began := time.Now()
	answered := l.world.ledger.ask(q.units, q.pots(began, began))
	defer answered()
	a, err := n.client.Check(context.WithValue(ctx, sentKey{}, sent), q.request)
	ended := time.Now()
	n.tally.slowest(ended.Sub(began))
	unresolved := func() { l.world.ledger.lose(q.units, of(n.region.name, q.pots(began, ended))...) }
	l.world.timeline.answer(ended, a)
	switch {
	case err != nil:
		n.tally.fail(err)
		if sent.Load() {
			unresolved()
		}
	case a.Allowed:
		l.allowed(n, q, ended, a)
	case a.Reason == weirv1.Reason_REASON_STORE_UNAVAILABLE:
		n.tally.away.Add(1)
		if !n.region.store.wasGone(began, ended) {
			unresolved()
		}
	default:
		n.tally.deny(ended)
		l.checkDenial(n, q, ended, a)
	}
}

func (l *load) allowed(n *node, q question, at time.Time, a *weirv1.CheckResponse) {
	pots, err := q.charged(a)
	if err != nil {
		l.problem("%s: %v", n.name, err)
		return
	}
	parts := of(n.region.name, pots)
	n.tally.allow(at)
	l.world.ledger.acknowledge(at, n.name, q.units, parts...)
	l.world.stalls.allowed(at, q.units, parts...)
	if by := a.DecidedBy; by != weirv1.DecidedBy_DECIDED_BY_STORE && by != weirv1.DecidedBy_DECIDED_BY_LEASE {
		l.problem("%s allowed by %v, want the store or a lease", n.name, by)
	}
	for _, p := range pots {
		if l.usedUp[p] {
			l.problem("%s allowed %d of %v, which every node knew to be used up", n.name, q.units, p)
		}
	}
}

// inFlight is more units than are counted at any moment for checks that are
// denied in the end.
const inFlight = 100

// checkDenial tells of a denial that cannot be right.
func (l *load) checkDenial(n *node, q question, at time.Time, a *weirv1.CheckResponse) {
	p := pot{a.Rule, q.request.Attributes[a.Rule], a.ResetUnixSeconds}
	rule := quotaOf(a.Rule)
	switch {
	case a.Reason == weirv1.Reason_REASON_LIMIT_EXCEEDED && q.request.Attributes["user"] != "":
	case rule.limit == 0 || p.key == "":
		l.problem("%s denied %v by %q for %v", n.name, q.request.Attributes, a.Rule, a.Reason)
	case a.Reason == weirv1.Reason_REASON_QUOTA_EXHAUSTED:
		if most := l.world.ledger.most(p); most+inFlight+l.unsettled(rule) <= rule.limit {
			l.problem("%s denied %d units of %v as used up (limit %d); at most %d were ever asked for", n.name, q.units, p, rule.limit, most)
		}
	case a.Reason == weirv1.Reason_REASON_QUOTA_RIGHTS_EXHAUSTED && !rule.unbounded:
		left := rule.limit - l.world.ledger.most(p) + q.units // the ledger has this check as asking
		l.world.stalls.denied(at, counted{p, n.region.name}, q.units, left)
	default:
		l.problem("%s denied %d units of %v for %v", n.name, q.units, p, a.Reason)
	}
}

// unsettled is what nodes may have taken ahead of a rule, and lost.
func (l *load) unsettled(q quota) int64 {
	if q.name != "hot" {
		return 0
	}
	return q.bound() / 100 * int64(len(l.world.nodes())) * hotSteps
}

// problem keeps one sentence about an answer that cannot be right.
func (l *load) problem(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.problems) < maxProblems {
		l.problems = append(l.problems, fmt.Sprintf(format, args...))
	}
}

// takeProblems returns what was found since it was last asked.
func (l *load) takeProblems() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.problems
	l.problems = nil
	return found
}

// sentWatch notes of each call whether its message was handed to a connection:
// one that was not can have done nothing.
type sentWatch struct{}

type sentKey struct{}

func (sentWatch) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if _, ok := s.(*stats.OutPayload); ok {
		if sent, ok := ctx.Value(sentKey{}).(*atomic.Bool); ok {
			sent.Store(true)
		}
	}
}

func (sentWatch) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (sentWatch) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (sentWatch) HandleConn(context.Context, stats.ConnStats)                       {}
