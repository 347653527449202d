package chaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// nodesApart lets no node of a region hear another of it but through other
// regions.
func nodesApart(w *world, random *rand.Rand) *fault { return apartIn(w.anyRegion(random), random) }

func apartIn(r *region, random *rand.Rand) *fault {
	var ports []string
	for _, n := range r.nodes {
		ports = append(ports, n.gossipPort())
	}
	return riftFault(random, "nodes apart", r.name, r, "deaf", ports...)
}

func nodeDeaf(w *world, random *rand.Rand) *fault {
	r := w.anyRegion(random)
	n := r.anyNode(random)
	return riftFault(random, "node hears none of its region", n.name, r, "deaf", n.gossipPort())
}

// storeUnasked loses what a node asks of its Redis, storeMute what that
// answers: it was done, and nobody knows.
func storeUnasked(w *world, random *rand.Rand) *fault {
	return storeRift(w, random, "requests to Redis lost", "unasked")
}

func storeMute(w *world, random *rand.Rand) *fault {
	return storeRift(w, random, "replies of Redis lost", "mute")
}

func storeRift(w *world, random *rand.Rand, name, set string) *fault {
	r := w.anyRegion(random)
	n := r.anyNode(random)
	f := riftFault(random, name, n.name, r, set, storeAddress(n.number))
	f.away = r.nodes
	mend := f.mend
	f.mend = func(ctx context.Context) error { return errors.Join(mend(ctx), serving(ctx, r.nodes)) }
	return f
}

// riftFlapping opens a rift for an instant, again and again.
func riftFlapping(w *world, random *rand.Rand) *fault {
	f := []kind{storeMute, storeUnasked, nodesApart}[random.IntN(3)](w, random)
	f.name += ", flapping"
	open, mend := f.inject, f.mend
	var pauses []time.Duration
	for range 4 + random.IntN(4) {
		pauses = append(pauses, seconds(random, 0.05, 0.5), seconds(random, 0.1, 1))
	}
	f.inject = func(ctx context.Context) error {
		for p := range slices.Chunk(pauses, 2) {
			if err := errors.Join(open(ctx), last(ctx, p[0]), mend(ctx), last(ctx, p[1])); err != nil {
				return err
			}
		}
		return nil
	}
	f.hold, f.mend = 0, func(context.Context) error { return nil }
	return f
}

// riftFault puts elements into a set of a region's filter.
func riftFault(random *rand.Rand, name, where string, r *region, set string, elements ...string) *fault {
	change := func(verb string) func(context.Context) error {
		return func(context.Context) error {
			var errs []error
			for _, e := range elements {
				errs = append(errs, r.space.element(verb, set, e))
			}
			return errors.Join(errs...)
		}
	}
	return &fault{name: name, where: where, hold: seconds(random, 1, 8), inject: change("add"), mend: change("delete")}
}

func (n *node) gossipPort() string { return strconv.Itoa(gossipPort + n.number*portStep) }

// flushed empties a Redis that goes on running, up to three times.
func flushed(w *world, random *rand.Rand) *fault {
	r := w.anyRegion(random)
	pauses := make([]time.Duration, random.IntN(3))
	for i := range pauses {
		pauses[i] = seconds(random, 0.2, 3)
	}
	return &fault{name: "FLUSHALL", where: r.name, hold: seconds(random, 1, 3), away: r.nodes,
		inject: func(ctx context.Context) error {
			_, err := r.store.server().command(ctx, "FLUSHALL")
			for _, p := range pauses {
				if err == nil {
					err = last(ctx, p)
				}
				if err == nil {
					_, err = r.store.server().command(ctx, "FLUSHALL")
				}
			}
			return err
		},
		mend: func(ctx context.Context) error { return serving(ctx, r.nodes) },
	}
}

// setBack restarts a Redis with what it held some seconds before.
func setBack(w *world, random *rand.Rand) *fault {
	r := w.anyRegion(random)
	age := seconds(random, 1, 5)
	return &fault{name: "Redis set back", where: r.name + ", by " + round(age), hold: seconds(random, 1, 3), away: r.nodes,
		inject: func(ctx context.Context) error {
			if _, err := r.store.server().command(ctx, "SAVE"); err != nil {
				return err
			}
			return errors.Join(last(ctx, age), r.store.setBack(ctx))
		},
		mend: func(ctx context.Context) error { return serving(ctx, r.nodes) },
	}
}

// failedOver makes a copy of Redis the master and kills the old one.
func failedOver(w *world, random *rand.Rand) *fault {
	r := w.anyRegion(random)
	return &fault{name: "fail-over", where: r.name, hold: seconds(random, 1, 3), away: r.nodes,
		inject: func(ctx context.Context) error {
			return errors.Join(r.store.promote(ctx, storeAddress(0), storeAddress(1), pulseAddress), r.store.demote())
		},
		mend: func(ctx context.Context) error { return serving(ctx, r.nodes) },
	}
}

// splitMaster makes a copy of Redis a second master: one node reaches it, the
// others go on with the old one until it is mended. What the region had left
// then, and what it was given meanwhile, it may let through twice.
func splitMaster(w *world, random *rand.Rand) *fault { return splitIn(w, w.anyRegion(random), random) }

func splitIn(w *world, r *region, random *rand.Rand) *fault {
	n := r.anyNode(random)
	f := &fault{name: "two Redis masters", where: r.name + ", " + n.name + " at the new", hold: seconds(random, 2, 12), away: r.nodes}
	var twice *doubled
	f.inject = func(ctx context.Context) error {
		w.load.pause()
		twice = double(r, w.look(ctx), time.Now())
		w.load.resume()
		return r.store.promote(ctx, storeAddress(n.number))
	}
	f.mend = func(ctx context.Context) error {
		err := errors.Join(r.store.demote(), serving(ctx, r.nodes))
		w.timeline.look(w.look(ctx))
		twice.grant(w)
		return err
	}
	return f
}
