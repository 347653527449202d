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
	"weir/region/giving"
	"weir/region/telemetry"
)

// firstSplit is the version of the split in weir.yaml.
const firstSplit = 1

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
	n.leases = limiter.NewLeases(limiter.LeaseOptions{Node: n.opts.Config.Node, Store: s, Ledger: n.ledger})
	n.engine.UseLeases(n.leases)
	n.giver, err = n.newGiver()
	return err
}

func (n *Node) newGiver() (*giver, error) {
	cfg := n.opts.Config
	if n.saver == nil && len(cfg.Regions) > 1 {
		n.log.Warn("this node has no snapshot: it gives none of its region's rights to other regions, whose quotas may then run out early; set snapshot:")
	}
	policy, err := giving.NewHalfSurplus(giving.DefaultReservePercent, giving.DefaultMaxRows)
	if err != nil {
		return nil, err
	}
	return &giver{
		node: cfg.Node, region: cfg.Region, mesh: n.mesh, ledger: n.ledger, store: n.store, rules: n.engine.Rules,
		policy: policy, clock: bootClock(), log: n.log,
		able: func() bool { return n.saver != nil && !n.saver.failing.Load() && n.NotReady() == nil },
	}, nil
}

func (n *Node) newStore() (store.Store, error) {
	cfg := n.opts.Config
	if cfg.StoreKind() == config.MemoryStore {
		return embedded.New(embedded.Options{Keys: cfg.Limits.Keys, QuotaRows: cfg.Limits.QuotaRows, Settled: n.settled.note}), nil
	}
	measures := telemetry.NewRedis(n.registry)
	return redis.New(redis.Options{URL: cfg.Store, Region: cfg.Region, Budget: limiter.Budget, Log: n.log, Observe: measures.Observe,
		Exchange: n.exchange, Settled: n.settled.note, Clock: bootClock(), Split: firstSplit})
}
