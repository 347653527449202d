package region

import (
	"context"
	"time"

	"weir/limiter/store"
)

// exchangeBudget is how long an exchange waits for the region's nodes; who has
// not answered by then counts as gone.
const exchangeBudget = time.Second

// exchangeAgainBudget is how long it then waits for those who did.
const exchangeAgainBudget = 250 * time.Millisecond

// exchange is what the store calls before it uses a reign that is new to this
// node. It waits for the node to have met its peers: one that has just begun
// knows nothing and nobody. reign is 0 while it is yet to begin.
func (n *Node) exchange(ctx context.Context, reign store.Reign) error {
	select {
	case <-n.met:
	case <-ctx.Done():
		return ctx.Err()
	}
	unanswered, err := n.exchangeWithin(ctx, exchangeBudget, reign)
	if unanswered > 0 && err == nil {
		// Those who did not answer may have told those who did something since.
		n.log.Warn("nodes of this region did not answer an exchange and count as gone", "nodes", unanswered)
		_, err = n.exchangeWithin(ctx, exchangeAgainBudget, reign)
	}
	return err
}

func (n *Node) exchangeWithin(ctx context.Context, budget time.Duration, reign store.Reign) (unanswered int, err error) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	return n.mesh.Exchange(ctx, uint64(reign))
}
