package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"time"
)

func nodeKilled(w *world, random *rand.Rand) *fault {
	n := w.anyRegion(random).anyNode(random)
	return killFault(w, random, "node killed", n.name, []*node{n}, nil)
}

func nodesKilled(w *world, random *rand.Rand) *fault {
	r := w.anyRegion(random)
	return killFault(w, random, "all nodes killed", r.name, r.nodes, nil)
}

func everyNodeKilled(w *world, random *rand.Rand) *fault {
	return killFault(w, random, "all nodes killed", "everywhere", w.nodes(), nil)
}

func redisKilled(w *world, random *rand.Rand) *fault {
	r := w.anyRegion(random)
	return killFault(w, random, "Redis killed, empty", r.name, nil, []*region{r})
}

func nodeAndRedisKilled(w *world, random *rand.Rand) *fault {
	r := w.anyRegion(random)
	n := r.anyNode(random)
	return killFault(w, random, "node and Redis killed", n.name, []*node{n}, []*region{r})
}

func regionLost(w *world, random *rand.Rand) *fault {
	r := w.anyRegion(random)
	return killFault(w, random, "Redis and all nodes killed", r.name, r.nodes, []*region{r})
}

func everythingLost(w *world, random *rand.Rand) *fault {
	return killFault(w, random, "Redis and all nodes killed", "everywhere", w.nodes(), w.regions)
}

const (
	// untold is how long what a node counted may be known to itself and its
	// Redis alone: a tick of 100 ms, what waits to be sent, and the way.
	untold = 250 * time.Millisecond
	// unsaved is how long it may be on no disk: a snapshot interval of 1 s, the
	// writing, and a tick.
	unsaved = 1300 * time.Millisecond
)

// killFault kills nodes and the Redis of regions, all at once, and starts them
// again. Nodes and Redis lost together may forget what the nodes had not told
// anyone; where nobody is left, what was on no disk. Nothing else may be
// forgotten.
func killFault(w *world, random *rand.Rand, name, where string, nodes []*node, of []*region) *fault {
	f := &fault{name: name, where: where, hold: seconds(random, 0.5, 4), hurt: nodes, memory: untold}
	if len(nodes) == len(w.nodes()) {
		f.memory = unsaved
	}
	for _, r := range of {
		f.away = append(f.away, r.nodes...)
	}
	f.inject = func(context.Context) error {
		began := time.Now()
		var errs []error
		for _, n := range nodes {
			errs = append(errs, n.kill())
		}
		for _, r := range of {
			errs = append(errs, r.store.kill())
		}
		if len(of) > 0 {
			f.mayBeForgotten = w.ledger.forgive(began.Add(-f.memory), nodes...)
		}
		return errors.Join(errs...)
	}
	f.mend = func(ctx context.Context) error {
		for _, r := range of {
			if err := r.store.start(ctx); err != nil {
				return err
			}
		}
		if err := startAll(ctx, nodes...); err != nil {
			return err
		}
		return serving(ctx, f.touched())
	}
	return f
}

// nodeReplaced kills a node for good: one with a new name and an empty disk
// takes its place.
func nodeReplaced(w *world, random *rand.Rand) *fault {
	n := w.anyRegion(random).anyNode(random)
	return &fault{name: "node replaced", where: n.name, hold: seconds(random, 0.5, 4), hurt: []*node{n},
		inject: func(context.Context) error { return n.kill() },
		mend: func(ctx context.Context) error {
			if err := errors.Join(n.replace(w), startAll(ctx, n)); err != nil {
				return err
			}
			return errors.Join(serving(ctx, []*node{n}), w.forgetGone(ctx))
		},
	}
}

// forgottenWithin bounds how long a node that is gone for good counts as a
// member: it is probed and suspected for that long.
const forgottenWithin = 30 * time.Second

// forgetGone waits until every node knows of those that there are, and of no
// others. Until then a name that is gone may be the one that is to give rights
// of a row, and nobody does.
func (w *world) forgetGone(ctx context.Context) error {
	others := len(w.nodes()) - 1
	return until(ctx, forgottenWithin, "the node that was replaced is forgotten", func() (bool, string) {
		for _, n := range w.nodes() {
			peers, err := n.gauge(ctx, "weir_gossip_peers")
			if err != nil {
				return false, err.Error()
			}
			if peers != others {
				return false, fmt.Sprintf("%s has %d peers, want %d", n.name, peers, others)
			}
		}
		return true, ""
	})
}

// rollingRestart restarts every node, one after another, as an upgrade does: no
// client may notice.
func rollingRestart(w *world, _ *rand.Rand) *fault {
	return &fault{name: "rolling restart", where: "everywhere",
		inject: func(ctx context.Context) error {
			for _, n := range w.nodes() {
				if err := errors.Join(n.stop(), startAll(ctx, n)); err != nil {
					return err
				}
			}
			return nil
		},
		mend: func(ctx context.Context) error { return serving(ctx, w.nodes()) },
	}
}

// diskFull leaves no room on the disks of a region: no snapshot, no gift.
func diskFull(w *world, random *rand.Rand) *fault {
	r := w.anyRegion(random)
	each := func(do func(*disk) error) func(context.Context) error {
		return func(context.Context) error {
			var errs []error
			for _, n := range r.nodes {
				errs = append(errs, do(n.disk))
			}
			return errors.Join(errs...)
		}
	}
	return &fault{name: "disk full", where: r.name, hold: seconds(random, 3, 10), inject: each((*disk).fill), mend: each((*disk).free)}
}

func nodeFrozen(w *world, random *rand.Rand) *fault {
	n := w.anyRegion(random).anyNode(random)
	f := freezeFault(random, "node frozen", func() *process { return n.process }, []*node{n})
	f.where, f.hurt = n.name, []*node{n}
	return f
}

func redisFrozen(w *world, random *rand.Rand) *fault {
	r := w.anyRegion(random)
	f := freezeFault(random, "Redis frozen", func() *process { return r.store.server().process }, r.nodes)
	f.where, f.away = r.name, r.nodes
	return f
}

const continueSignal = syscall.SIGCONT

func freezeFault(random *rand.Rand, name string, p func() *process, nodes []*node) *fault {
	return &fault{name: name, hold: seconds(random, 0.5, 13),
		inject: func(context.Context) error { return p().signal(syscall.SIGSTOP) },
		mend: func(ctx context.Context) error {
			if err := p().signal(continueSignal); err != nil {
				return err
			}
			return serving(ctx, nodes)
		},
	}
}

// servingWithin bounds how long after its store's return a node cannot decide.
const servingWithin = 5 * time.Second

// serving waits until every node decides again.
func serving(ctx context.Context, nodes []*node) error {
	since := time.Now()
	return until(ctx, servingWithin, "nodes decide again", func() (bool, string) {
		var silent []string
		for _, n := range nodes {
			if !n.tally.decidedSince(since) {
				silent = append(silent, n.name)
			}
		}
		return len(silent) == 0, "nothing decided by " + strings.Join(silent, ", ")
	})
}
