package chaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"
)

// fault is something that breaks and is mended.
type fault struct {
	name, where string
	calm        bool // nothing breaks
	// hurt are the nodes whose clients may meet errors; all others may not.
	hurt []*node
	// hold is how long it lasts at least; a region that cannot be heard is
	// waited for to be called cut off.
	hold           time.Duration
	inject, mend   func(context.Context) error
	mayBeForgotten int64 // units, known once it was injected
}

// kind makes a fault for a world, its particulars by chance.
type kind func(*world, *rand.Rand) *fault

// cuts are the kinds that break the network, crashes those that kill or stop
// processes; mixed ones do both.
var (
	cuts    = []kind{isolated, allApart, pairCut, unheard, deaf, halfPair, flapping, linkDown}
	crashes = []kind{nodeKilled, redisKilled, nodesKilled, nodeAndRedisKilled, regionLost, nodeFrozen, redisFrozen}
	mixed   = []kind{isolatedAndNodeKilled, isolatedAndRedisKilled}
)

// schedule draws the faults of a run: every kind in each round of the long
// form, one of each sort in the short.
func schedule(w *world, random *rand.Rand, short bool) (faults []*fault) {
	w.longestCut = 25
	var kinds []kind
	if short {
		w.longestCut = 6
		one := func(of ...kind) kind { return of[random.IntN(len(of))] }
		kinds = []kind{one(isolated, allApart, linkDown, unheard), one(pairCut, halfPair, flapping), nodeKilled, redisKilled,
			one(nodesKilled, nodeAndRedisKilled, regionLost)}
		random.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	} else {
		for range longRounds {
			round := slices.Concat(cuts, crashes, mixed)
			random.Shuffle(len(round), func(i, j int) { round[i], round[j] = round[j], round[i] })
			kinds = append(kinds, round...)
		}
	}
	for _, k := range kinds {
		faults = append(faults, k(w, random))
	}
	return faults
}

const longRounds = 2

func isolatedAndNodeKilled(w *world, random *rand.Rand) *fault {
	return both(isolated(w, random), nodeKilled(w, random))
}

func isolatedAndRedisKilled(w *world, random *rand.Rand) *fault {
	return both(isolated(w, random), redisKilled(w, random))
}

// both injects two faults and mends the second first: what was killed starts
// while the network is still cut.
func both(a, b *fault) *fault {
	return &fault{name: a.name + ", " + b.name, where: a.where + "; " + b.where,
		hurt: append(slices.Clone(a.hurt), b.hurt...), hold: max(a.hold, b.hold),
		inject: func(ctx context.Context) error { return errors.Join(a.inject(ctx), b.inject(ctx)) },
		mend:   func(ctx context.Context) error { return errors.Join(b.mend(ctx), a.mend(ctx)) },
	}
}

func (w *world) anyRegion(random *rand.Rand) *region { return w.regions[random.IntN(len(w.regions))] }

func (w *world) anyTwo(random *rand.Rand) (a, b *region) {
	order := random.Perm(len(w.regions))
	return w.regions[order[0]], w.regions[order[1]]
}

func (r *region) anyNode(random *rand.Rand) *node { return r.nodes[random.IntN(len(r.nodes))] }

func seconds(random *rand.Rand, least, most float64) time.Duration {
	return time.Duration((least + random.Float64()*(most-least)) * float64(time.Second))
}

// last lets a fault last.
func last(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
