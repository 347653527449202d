package region

import (
	"context"
	"fmt"
	"time"

	"weir/limiter"
	"weir/limiter/store"
	"weir/limiter/store/embedded"
	"weir/limiter/store/redis"
	"weir/region/config"
	"weir/region/telemetry"
)

// openStore opens the region's store; one in Redis may be down and is waited
// for later.
func (n *Node) openStore(context.Context) error {
	s, err := n.newStore()
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	n.store = s
	n.cleanups.add("close the store", closeBudget, func(context.Context) error { return s.Close() })
	n.engine = limiter.NewEngine(n.opts.Rules, s, n.ledger, time.Now)
	return nil
}

func (n *Node) newStore() (store.Store, error) {
	cfg := n.opts.Config
	if cfg.StoreKind() == config.MemoryStore {
		return embedded.New(embedded.Options{Keys: cfg.Limits.Keys, QuotaRows: cfg.Limits.QuotaRows}), nil
	}
	measures := telemetry.NewRedis(n.registry)
	return redis.New(redis.Options{URL: cfg.Store, Region: cfg.Region, Budget: limiter.Budget, Log: n.log, Observe: measures.Observe})
}
