package region

import (
	"context"
	"time"

	"weir/limiter"
	"weir/limiter/store/redis"
)

// secretInterval is how often a node looks whether the secret of its region's
// receipts is still the one that it has.
const secretInterval = time.Second

// newRefunds has the engine give receipts, and returns what takes them back. A
// store in the process has a secret of its own, and its receipts live as long.
func (n *Node) newRefunds() *limiter.Refunds {
	cfg := n.opts.Config
	receipts := limiter.NewReceipts(cfg.Region)
	n.engine.GiveReceipts(receipts)
	if s, shared := n.store.(*redis.Store); shared {
		n.work.Go(func() { n.keepSecret(n.workCtx, s, receipts) })
	} else {
		receipts.SetSecret(limiter.NewSecret())
	}
	return limiter.NewRefunds(n.engine, receipts, n.mesh, cfg.RegionNames())
}

// keepSecret has the nodes of a region that share a store agree on a secret:
// each offers the one it has, so one that the store lost comes back.
func (n *Node) keepSecret(ctx context.Context, s *redis.Store, receipts *limiter.Receipts) {
	secret := limiter.NewSecret()
	pause := storeRetry
	for {
		if kept, err := s.Secret(ctx, secret[:]); err == nil { // the store reports its own outages
			copy(secret[:], kept)
			receipts.SetSecret(secret)
			pause = secretInterval
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}
