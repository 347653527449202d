package api

import (
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Gate bounds the checks a node works on at once, and is closed while the node
// starts. What the bound turns away is told so at once: a queue
// would only make everybody late.
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

// Enter admits one call, which must Leave; or says why not: UNAVAILABLE while
// closed, RESOURCE_EXHAUSTED while full.
func (g *Gate) Enter() error {
	if !g.open.Load() {
		return status.Error(codes.Unavailable, "this node is starting; ask another")
	}
	if g.inside.Add(1) > g.limit {
		g.inside.Add(-1)
		g.refused.Add(1)
		return status.Errorf(codes.ResourceExhausted, "this node is working on %d checks already (limits.concurrent_checks); ask another", g.limit)
	}
	return nil
}

// Leave ends what Enter admitted.
func (g *Gate) Leave() { g.inside.Add(-1) }
