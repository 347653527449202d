package region

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"weir/limiter/store"
)

const (
	// reconcilePeriod is how often one node of a region reads what its store
	// holds, for what a node now gone had counted and not told.
	reconcilePeriod = time.Minute
	storeRetry      = 100 * time.Millisecond
)

// prepareWork makes what stops the node's own work, before the doors open, so
// that it runs after they have closed.
func (n *Node) prepareWork(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	n.workCtx = ctx
	n.cleanups.add("stop work", workBudget, func(ctx context.Context) error {
		if err := n.leases.Stop(ctx); err != nil {
			n.log.Warn("leases not returned count as spent", "err", err)
		}
		cancel()
		n.work.Wait()
		return nil
	})
	return nil
}

// beginWork starts what runs for as long as the node does.
func (n *Node) beginWork(context.Context) error {
	readying, giveUp := context.WithCancel(n.workCtx)
	decided := make(chan struct{})
	n.work.Go(func() {
		defer close(decided)
		n.becomeReady(readying)
	})
	n.work.Go(func() { n.watchRegions(n.workCtx) })
	n.work.Go(func() { n.watchRivals(n.workCtx) })
	n.work.Go(func() { n.reconcileLoop(n.workCtx) })
	n.work.Go(func() { n.takeInSettled(n.workCtx) })
	n.work.Go(func() { n.giver.run(n.workCtx) })
	n.work.Go(func() { n.watchSplits(n.workCtx) })
	n.work.Go(func() { n.leases.Run(n.workCtx) })
	if n.saver != nil {
		n.work.Go(func() { n.saver.run(n.workCtx) })
	}
	// Calls that come before they have heard of this are still served: closing
	// the doors sends them elsewhere without an error.
	n.cleanups.add("say that the node drains", closeBudget, func(ctx context.Context) error {
		giveUp()
		select {
		case <-decided: // nothing says ready any more
		case <-ctx.Done():
		}
		n.waitingFor("draining")
		n.setHealth(healthv1.HealthCheckResponse_NOT_SERVING)
		close(n.stopping)
		return nil
	})
	return nil
}

// becomeReady waits for the peers and the store, then opens the gate.
func (n *Node) becomeReady(ctx context.Context) {
	// Peers first: what they know must be known before the store is called.
	if !n.waitForPeers(ctx) {
		return
	}
	close(n.met)
	if !n.waitForStore(ctx) || !n.decideSplits(ctx) || !n.waitForSecret(ctx) || !n.waitForRivals(ctx) {
		return
	}
	n.gate.Open()
	n.setHealth(healthv1.HealthCheckResponse_SERVING)
	n.notReady.Store(nil)
	close(n.ready)
	n.log.Info("ready", "restored_from", n.restoredFrom())
}

// waitForStore returns once the store decides and its rows have been taken in.
func (n *Node) waitForStore(ctx context.Context) bool {
	retry := time.NewTicker(storeRetry)
	defer retry.Stop()
	for {
		err := n.store.Ready(ctx)
		if err == nil {
			err = n.reconcile(ctx)
		}
		if err == nil {
			return true
		}
		n.waitingFor("waiting for the store: %v", err)
		select {
		case <-ctx.Done():
			return false
		case <-retry.C:
		}
	}
}

// reconcile takes in the rows that the region's store holds.
func (n *Node) reconcile(ctx context.Context) error {
	news, epoch := 0, n.ledger.Epoch()
	err := n.store.Rows(ctx, func(rows []store.Row) error {
		more, believed := n.ledger.Reconcile(epoch, rows)
		news += more
		if !believed {
			return errExchanged
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the store's rows: %w", err)
	}
	if news > 0 {
		if n.NotReady() != nil {
			n.restoredFromNow("store")
		}
		n.log.Info("took in what the store holds", "entries", news)
	}
	return nil
}

// errExchanged: the nodes of the region agreed on a reign while the store's rows
// were read; they are read again.
var errExchanged = errors.New("an exchange came between")

// reconcileLoop reads the store again when a node of this region has gone, and
// slowly all the time: that one node does for the region, and gossips.
func (n *Node) reconcileLoop(ctx context.Context) {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for p := (pass{at: time.Now(), members: n.ownMembers()}); ; p = n.reconcileAfter(ctx, p) {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// pass is when the store was last read, and the nodes of the region seen since.
type pass struct {
	at      time.Time
	members []string
}

// reconcileAfter reads the store if it is time to, and returns what to go on
// from. A pass that failed is still to be done.
func (n *Node) reconcileAfter(ctx context.Context, last pass) pass {
	now := n.ownMembers()
	lost, due := someGone(last.members, now), time.Since(last.at) >= reconcilePeriod
	if !lost && !due {
		return pass{last.at, now}
	}
	if lost || isFirst(n.opts.Config.Node, now) {
		if err := n.reconcile(ctx); err != nil {
			n.log.Debug("reconcile with the store", "err", err) // the store reports its own outages
			return last
		}
	}
	n.ledger.DropEnded(time.Now().Add(-store.RowGrace).Unix())
	return pass{time.Now(), now}
}

// ownMembers returns the names of the nodes of this region, in order.
func (n *Node) ownMembers() (names []string) {
	for _, m := range n.mesh.Members() {
		if m.Region == n.opts.Config.Region {
			names = append(names, m.Name)
		}
	}
	return names
}

func someGone(before, now []string) bool {
	return slices.ContainsFunc(before, func(name string) bool { return !slices.Contains(now, name) })
}

// isFirst says whether the node reads the store for all: the first by name. One
// that is no member itself knows of nobody who would.
func isFirst(node string, members []string) bool {
	return !slices.Contains(members, node) || members[0] == node
}

// watchRegions keeps the regions' states fresh.
func (n *Node) watchRegions(ctx context.Context) {
	tick := time.NewTicker(heardInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			n.regions.refresh()
		}
	}
}
