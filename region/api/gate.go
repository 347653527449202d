package api

import (
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Gate bounds the checks a node works on at once, and is closed while the node
// starts. A call counts as many as it holds; one that holds more than the bound
// is let in when nothing else is inside, or it never could be. What the bound
// turns away is told so at once: a queue would only make everybody late.
type Gate struct {
	limit   int64
	inside  atomic.Int64
	open    atomic.Bool
	refused atomic.Uint64
}

// NewGate returns a closed gate for at most limit checks at once.
func NewGate(limit int64) *Gate { return &Gate{limit: limit} }

// Open lets checks in.
func (g *Gate) Open() { g.open.Store(true) }

// Refused counts the checks turned away because the node was full.
func (g *Gate) Refused() uint64 { return g.refused.Load() }

// Enter admits a call of that many checks, which must Leave; or says why not:
// UNAVAILABLE while closed, RESOURCE_EXHAUSTED while full.
func (g *Gate) Enter(checks int) error {
	if !g.open.Load() {
		return status.Error(codes.Unavailable, "this node is starting; ask another")
	}
	more := int64(checks)
	for now := g.inside.Load(); now == 0 || now+more <= g.limit; now = g.inside.Load() {
		if g.inside.CompareAndSwap(now, now+more) {
			return nil
		}
	}
	g.refused.Add(uint64(more))
	return status.Errorf(codes.ResourceExhausted, "this node works on as many checks as it may, %d (limits.concurrent_checks); ask another", g.limit)
}

// Leave ends what Enter admitted.
func (g *Gate) Leave(checks int) { g.inside.Add(-int64(checks)) }
