package region

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir/limiter"
	"weir/limiter/store/redis"
	"weir/region/telemetry"
)

const (
	// secretInterval is how often a node looks whether the secret of its region's
	// receipts is still the one that it has.
	secretInterval = time.Second
	// secretPatience is how long a node waits for the secret before it serves
	// without giving receipts: a store whose memory is full takes none.
	secretPatience = 2 * time.Second
)

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
		close(n.sealing)
	}
	refunds := limiter.NewRefunds(n.engine, receipts, n.mesh, cfg.RegionNames())
	n.refunds.Store(refunds)
	telemetry.Register(n.registry, refundFigures(refunds, receipts)...)
	return refunds
}

func refundFigures(refunds *limiter.Refunds, receipts *limiter.Receipts) []telemetry.Figure {
	state := func(name string, read func(limiter.RefundCounts) uint64) telemetry.Figure {
		return telemetry.Figure{Name: "weir_refunds_total", Labels: prometheus.Labels{"state": name}, Counter: true,
			Help: "Quotas' parts in refunds, by what became of them; and receipts forwarded, refused, and not answered by the store.",
			Read: func() float64 { return float64(read(refunds.Counts())) }}
	}
	return []telemetry.Figure{
		state("refunded", func(c limiter.RefundCounts) uint64 { return c.Refunded }),
		state("already", func(c limiter.RefundCounts) uint64 { return c.Already }),
		state("ended", func(c limiter.RefundCounts) uint64 { return c.Ended }),
		state("forwarded", func(c limiter.RefundCounts) uint64 { return c.Forwarded }),
		state("refused", func(c limiter.RefundCounts) uint64 { return c.Refused }),
		state("failed", func(c limiter.RefundCounts) uint64 { return c.Failed }),
		{Name: "weir_refunded_units_total", Help: "Units given back by receipts and by Envoy's negative hits.",
			Counter: true, Read: func() float64 { return float64(refunds.Counts().Units) }},
		{Name: "weir_receipts_unnamed_total", Help: "Charges to refundable quotas that no receipt names: past its bound, or before the secret was known.",
			Counter: true, Read: func() float64 { return float64(receipts.Unnamed()) }},
	}
}

// keepSecret has the nodes of a region that share a store agree on a secret:
// each offers the one it has, so one that the store lost comes back.
func (n *Node) keepSecret(ctx context.Context, s *redis.Store, receipts *limiter.Receipts) {
	var first sync.Once
	secret := limiter.NewSecret()
	pause := storeRetry
	for {
		if kept, err := s.Secret(ctx, secret[:]); err == nil { // the store reports its own outages
			copy(secret[:], kept)
			receipts.SetSecret(secret)
			first.Do(func() { close(n.sealing) })
			pause = secretInterval
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// waitForSecret returns once receipts can be given, or for too long cannot.
func (n *Node) waitForSecret(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-n.sealing:
	case <-time.After(secretPatience):
		n.log.Warn("the store has not given the secret of receipts; serving without receipts until it does")
	}
	return true
}

// errStarting: what another region passed on comes again.
var errStarting = errors.New("this node is starting")

// deliver refunds what another region passed on.
func (n *Node) deliver(ctx context.Context, payload []byte) error {
	refunds := n.refunds.Load()
	if refunds == nil || n.NotReady() != nil {
		return errStarting
	}
	return refunds.Deliver(ctx, payload)
}
