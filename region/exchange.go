package region

import (
	"context"
	"time"

	"weir/limiter/store"
)

// exchangeBudget is how long an exchange waits for the region's nodes; who has
// not answered by then counts as gone.
const exchangeBudget = time.Second

// exchange is what the store calls before it uses a reign that is new to this
// node. It waits for the node to have met its peers: one that has just begun
// knows nothing and nobody. reign is 0 while it is yet to begin.
func (n *Node) exchange(ctx context.Context, reign store.Reign) error {
	select {
	case <-n.met:
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, exchangeBudget)
	defer cancel()
	unanswered, err := n.mesh.Exchange(ctx, uint64(reign))
	if unanswered > 0 {
		n.log.Warn("nodes of this region did not answer an exchange and count as gone", "nodes", unanswered)
	}
	return err
}
