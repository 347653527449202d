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
	// usedUp are the quotas, as rule/key, that every node knew to be used up
	// when all last agreed. Written while nothing is in flight.
	usedUp map[string]bool
	// during is the number of the step whose fault lasts, 0 between faults.
	// Some calls then use keys that nobody uses again: what was counted of them
	// comes to others by what they find missing, or never.
	during atomic.Int64

	mu       sync.Mutex
	problems []string
}

const (
	clientsPerRegion = 6
	callInterval     = 40 * time.Millisecond
	callTimeout      = 2 * time.Second
	maxUnits         = 3 // of one check
	keys             = 20
	teams            = 20
	maxProblems      = 20
)

func newLoad(w *world) *load { return &load{world: w} }

// run calls until the context ends.
func (l *load) run(ctx context.Context, seed uint64) {
	var clients sync.WaitGroup
	for i, r := range l.world.regions {
		for j := range clientsPerRegion {
			random := rand.New(rand.NewPCG(seed, uint64(1+i*clientsPerRegion+j)))
			clients.Go(func() { l.client(ctx, r, j, random) })
		}
	}
	clients.Wait()
}

func (l *load) client(ctx context.Context, r *region, number int, random *rand.Rand) {
	tick := time.NewTicker(callInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if n := r.openNode(number); n != nil {
			l.gate.RLock()
			l.call(n, newQuestion(r.name, l.during.Load(), random))
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

// question is one check and the parts of quotas that it counts if allowed.
type question struct {
	request *weirv1.CheckRequest
	units   int64
	parts   []counted
}

func newQuestion(region string, during int64, random *rand.Rand) question {
	key := fmt.Sprintf("key-%02d", random.IntN(keys))
	if during > 0 && random.IntN(8) == 0 {
		key = fmt.Sprintf("during-%d-%s-%d", during, region, random.IntN(2))
	}
	units := uint64(1 + random.IntN(maxUnits))
	q := question{units: int64(units), parts: []counted{{"daily", key, region}},
		request: &weirv1.CheckRequest{Attributes: map[string]string{"api_key": key}, Cost: &units}}
	if random.IntN(4) == 0 {
		// The square makes low numbers common: quotas are used up one by one.
		u := random.Float64()
		team := fmt.Sprintf("team-%02d", int(u*u*teams))
		q.request.Attributes["team"] = team
		q.parts = append(q.parts, counted{"teams", team, region})
	}
	if random.IntN(8) == 0 {
		q.request.Attributes["user"] = fmt.Sprintf("user-%d", random.IntN(2))
	}
	return q
}

// call asks and keeps the answer in the ledger.
func (l *load) call(n *node, q question) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	sent := new(atomic.Bool)
	began := time.Now()
	answer, err := n.client.Check(context.WithValue(ctx, sentKey{}, sent), q.request)
	ended := time.Now()
	n.tally.slowest(ended.Sub(began))
	ledger := l.world.ledger
	switch {
	case err != nil && !sent.Load():
		n.tally.fail(err)
	case err != nil:
		n.tally.fail(err)
		ledger.lose(q.units, q.parts...)
	case answer.Allowed:
		n.tally.allow(ended)
		ledger.acknowledge(ended, n.name, q.units, q.parts...)
		if answer.DecidedBy != weirv1.DecidedBy_DECIDED_BY_STORE {
			l.problem("%s allowed by %v, want the store", n.name, answer.DecidedBy)
		}
		for _, c := range q.parts {
			if l.usedUp[c.rule+"/"+c.key] {
				l.problem("%s allowed %d of %v, which every node knew to be used up", n.name, q.units, c)
			}
		}
	case answer.Reason == weirv1.Reason_REASON_STORE_UNAVAILABLE:
		n.tally.away.Add(1)
		if !n.region.redis.wasGone(began, ended) {
			ledger.lose(q.units, q.parts...)
		}
	default:
		n.tally.denied.Add(1)
		l.checkDenial(n, q, answer)
	}
}

// checkDenial tells of a denial that cannot be right.
func (l *load) checkDenial(n *node, q question, a *weirv1.CheckResponse) {
	switch {
	case a.Reason == weirv1.Reason_REASON_LIMIT_EXCEEDED && q.request.Attributes["user"] != "":
	case a.Reason == weirv1.Reason_REASON_QUOTA_EXHAUSTED && a.Rule == "teams":
		team := q.request.Attributes["team"]
		inFlight := int64(maxUnits * clientsPerRegion * len(l.world.regions))
		if most := l.world.ledger.most(a.Rule, team) + inFlight; most+q.units <= a.Limit {
			l.problem("%s says that %s/%s is used up (limit %d); at most %d were ever asked for", n.name, a.Rule, team, a.Limit, most)
		}
	default:
		l.problem("%s denied %v by %q for %v", n.name, q.request.Attributes, a.Rule, a.Reason)
	}
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
