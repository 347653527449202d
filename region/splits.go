package region

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weir/crdt"
	"weir/limiter/store/redis"
)

const (
	// splitsLook is how often a node looks whether splits have changed, and
	// splitsKeep how often it has the store take them in all the same: a server
	// may have lost them.
	splitsLook = time.Second
	splitsKeep = 10 * time.Second
)

// decideSplits returns once the node knows how rights are shared out: by its
// snapshot or its peers, who were heard before, or by its region's store. Only if
// none of them knows is it as weir.yaml says. No check is decided earlier.
func (n *Node) decideSplits(ctx context.Context) bool {
	retry := time.NewTicker(storeRetry)
	defer retry.Stop()
	told := false
	for {
		err := n.chooseSplits(ctx)
		if err == nil {
			break
		}
		n.waitingFor("waiting for how quotas are split among regions: %v", err)
		if errors.Is(err, redis.ErrSplits) && !told {
			n.log.Error("the split of quotas cannot be read, and no snapshot or peer knows it", "err", err)
			told = true
		}
		select {
		case <-ctx.Done():
			return false
		case <-retry.C:
		}
	}
	n.saveSplits(ctx)
	n.compareSplits()
	return true
}

// chooseSplits takes in what the store keeps, and has it keep what is known
// here; where nobody knows any, weir.yaml's.
func (n *Node) chooseSplits(ctx context.Context) error {
	if n.mesh.Splits().Len() > 0 {
		if err := n.keepSplits(ctx); err != nil {
			n.log.Warn("the store does not keep how quotas are split; it is tried again", "err", err)
		}
		return nil
	}
	splits, err := n.opts.Config.Splits()
	if err != nil {
		return fmt.Errorf("regions: %w", err)
	}
	if s, shared := n.store.(*redis.Store); shared {
		if splits, err = s.Splits(ctx, &splits); err != nil {
			return err
		}
	}
	n.mesh.MergeSplits(&splits)
	return nil
}

// keepSplits has the region's store keep what is known, and takes in what it
// kept before. A store in memory keeps nothing for longer than this node.
func (n *Node) keepSplits(ctx context.Context) error {
	s, shared := n.store.(*redis.Store)
	known := n.mesh.Splits()
	if !shared || known.Len() == 0 {
		return nil
	}
	kept, err := s.MergeSplits(ctx, known)
	if err == nil {
		n.mesh.MergeSplits(&kept)
	}
	return err
}

// saveSplits has the disk hold the splits before they are used: a node that is
// killed must not begin again with others.
func (n *Node) saveSplits(ctx context.Context) {
	if n.saver == nil {
		return
	}
	if err := n.saver.save(ctx); err != nil {
		n.log.Error("the snapshot does not hold how quotas are split yet; it is tried again every interval", "err", err)
	}
}

// compareSplits warns if weir.yaml says otherwise than what is in force.
func (n *Node) compareSplits() {
	told, err := n.opts.Config.Splits()
	known := n.mesh.Splits().All()
	if err != nil || len(known) == 0 {
		return
	}
	configured, _ := told.Newest()
	newest := known[len(known)-1]
	same := func(s crdt.Split) bool { return slices.Equal(s.Weights, configured.Weights) }
	if slices.ContainsFunc(newest.Rivals, same) {
		return
	}
	n.log.Warn("regions in weir.yaml differ from the split in force and are not used: they are only where no snapshot, peer or store knows a split",
		"regions", configured.String(), "in_force", newest.Rivals[0].String(), "version", newest.Version)
}

// watchSplits has the store keep what changes, and tells of conflicts.
func (n *Node) watchSplits(ctx context.Context) {
	look := time.NewTicker(splitsLook)
	defer look.Stop()
	var kept *crdt.Splits
	var keptAt time.Time
	conflicts := 0
	for {
		if now := n.mesh.Splits(); now != kept || time.Since(keptAt) >= splitsKeep {
			conflicts = n.tellConflicts(conflicts)
			if err := n.keepSplits(ctx); err == nil { // the store reports its own outages
				kept, keptAt = now, time.Now()
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// tellConflicts tells of rivals that have come since there were so many, and
// returns how many there are.
func (n *Node) tellConflicts(before int) (rivals int) {
	for _, k := range n.mesh.Splits().Conflicts() {
		rivals += len(k.Rivals)
	}
	if rivals <= before {
		return before
	}
	for _, k := range n.mesh.Splits().Conflicts() {
		n.log.Error("regions were told different splits of quotas: each uses the smallest of its shares, and part of every quota is lost until all agree",
			"version", k.Version, "splits", fmt.Sprint(k.Rivals))
	}
	return rivals
}
