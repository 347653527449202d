package chaos

import (
	"context"
	"errors"
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

func redisKilled(w *world, random *rand.Rand) *fault {
	r := w.anyRegion(random)
	return killFault(w, random, "Redis killed, empty", r.name, nil, r)
}

func nodeAndRedisKilled(w *world, random *rand.Rand) *fault {
	r := w.anyRegion(random)
	n := r.anyNode(random)
	return killFault(w, random, "node and Redis killed", n.name, []*node{n}, r)
}

func regionLost(w *world, random *rand.Rand) *fault {
	r := w.anyRegion(random)
	return killFault(w, random, "Redis and all nodes killed", r.name, r.nodes, r)
}

// untold is how long what a node counted may be known to itself and its Redis
// alone: a tick of 100 ms, what waits to be sent, and the way.
const untold = 250 * time.Millisecond

// killFault kills nodes and, if a region is given, that region's Redis, and
// starts them again. Nodes and Redis lost together may forget what the nodes
// had not told anyone; nothing else may be forgotten.
func killFault(w *world, random *rand.Rand, name, where string, nodes []*node, of *region) *fault {
	f := &fault{name: name, where: where, hold: seconds(random, 0.5, 4), hurt: nodes}
	if of != nil {
		f.hurt = of.nodes
	}
	f.inject = func(context.Context) error {
		began := time.Now()
		var errs []error
		for _, n := range nodes {
			errs = append(errs, n.kill())
		}
		if of != nil {
			errs = append(errs, of.redis.kill())
			f.mayBeForgotten = w.ledger.forgive(began.Add(-untold), nodes...)
		}
		return errors.Join(errs...)
	}
	f.mend = func(ctx context.Context) error {
		if of != nil {
			if err := of.redis.start(ctx); err != nil {
				return err
			}
		}
		if err := startAll(ctx, nodes...); err != nil {
			return err
		}
		return serving(ctx, f.hurt)
	}
	return f
}

func nodeFrozen(w *world, random *rand.Rand) *fault {
	n := w.anyRegion(random).anyNode(random)
	return freezeFault(random, "node frozen", n.process, []*node{n})
}

func redisFrozen(w *world, random *rand.Rand) *fault {
	r := w.anyRegion(random)
	return freezeFault(random, "Redis frozen", r.redis.process, r.nodes)
}

const continueSignal = syscall.SIGCONT

func freezeFault(random *rand.Rand, name string, p *process, hurt []*node) *fault {
	return &fault{name: name, where: p.name, hold: seconds(random, 0.5, 13), hurt: hurt,
		inject: func(context.Context) error { return p.signal(syscall.SIGSTOP) },
		mend: func(ctx context.Context) error {
			if err := p.signal(continueSignal); err != nil {
				return err
			}
			return serving(ctx, hurt)
		},
	}
}

// servingWithin bounds how long after its store's return a node denies.
const servingWithin = 5 * time.Second

// serving waits until every node allows something again.
func serving(ctx context.Context, nodes []*node) error {
	since := time.Now()
	return until(ctx, servingWithin, "nodes allow again", func() (bool, string) {
		var silent []string
		for _, n := range nodes {
			if !n.tally.allowedSince(since) {
				silent = append(silent, n.name)
			}
		}
		return len(silent) == 0, "nothing allowed by " + strings.Join(silent, ", ")
	})
}
