package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"time"
)

// fault is something that breaks and is mended.
type fault struct {
	name, where string
	seed        uint64 // it was drawn with
	calm        bool   // nothing breaks
	// hurt are the nodes whose clients may meet errors. Those of a node that is
	// only away from its store may be denied for that, and for a time by all
	// its region's nodes. All others may notice nothing.
	hurt, away []*node
	// hold is how long it lasts at least; a region that cannot be heard is
	// waited for to be called cut off.
	hold           time.Duration
	inject, mend   func(context.Context) error
	mayBeForgotten int64 // units, known once it was injected
	// memory is how far back what is lost may have been known to nobody else.
	memory time.Duration
}

// kind makes a fault for a world, its particulars by chance.
type kind func(*world, *rand.Rand) *fault

// The kinds: cuts break the network between regions, rifts that within one,
// crashes kill or stop processes, losses are of what Redis holds.
var (
	cuts    = []kind{isolated, allApart, pairCut, unheard, deaf, halfPair, flapping, linkDown}
	rifts   = []kind{nodesApart, nodeDeaf, storeUnasked, storeMute, riftFlapping}
	crashes = []kind{nodeKilled, nodesKilled, everyNodeKilled, nodeReplaced, rollingRestart, nodeFrozen, redisFrozen, diskFull}
	losses  = []kind{redisKilled, nodeAndRedisKilled, regionLost, everythingLost, flushed, setBack, failedOver, splitMaster}
	mixed   = []kind{isolatedAndNodeKilled, isolatedAndRedisKilled, isolatedAndFlushed, isolatedAndLost, apartAndAllKilled, apartAndSplit, blindSplit, apartAndDiskFull, unheardAndSetBack}
)

// sorts are the kinds, sort by sort.
var sorts = [][]kind{cuts, rifts, crashes, losses, mixed}

// schedule draws the faults of a run: every kind in each round, of those that
// are wanted, and as long as there are any, one of every sort in turn.
func schedule(w *world, random *rand.Rand, wanted *regexp.Regexp) func() *fault {
	var round []kind
	return func() *fault {
		if len(round) == 0 {
			round = drawRound(w, random, wanted)
		}
		k := round[0]
		round = round[1:]
		return k(w, random)
	}
}

func drawRound(w *world, random *rand.Rand, wanted *regexp.Regexp) (round []kind) {
	var left [][]kind
	for _, sort := range sorts {
		var of []kind
		for _, k := range sort {
			if wanted.MatchString(k(w, rand.New(rand.NewPCG(0, 0))).name) {
				of = append(of, k)
			}
		}
		random.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		left = append(left, of)
	}
	random.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
	for more := true; more; {
		more = false
		for i, of := range left {
			if len(of) > 0 {
				round, left[i], more = append(round, of[0]), of[1:], true
			}
		}
	}
	return round
}

// none is a step without a fault, in which nodes may not lag either.
func none() *fault {
	nothing := func(context.Context) error { return nil }
	return &fault{name: "none", where: "–", calm: true, hold: settleTime + 3*time.Second, inject: nothing, mend: nothing}
}

func isolatedAndNodeKilled(w *world, random *rand.Rand) *fault {
	return both(isolated(w, random), nodeKilled(w, random))
}

func isolatedAndRedisKilled(w *world, random *rand.Rand) *fault {
	return both(isolated(w, random), redisKilled(w, random))
}

func isolatedAndFlushed(w *world, random *rand.Rand) *fault {
	return both(isolated(w, random), flushed(w, random))
}

// isolatedAndLost may forget what no disk had: no other region heard.
func isolatedAndLost(w *world, random *rand.Rand) *fault {
	lost := regionLost(w, random)
	lost.memory = unsaved
	return both(isolated(w, random), lost)
}

func apartAndAllKilled(w *world, random *rand.Rand) *fault {
	return both(allApart(w, random), everyNodeKilled(w, random))
}

func apartAndSplit(w *world, random *rand.Rand) *fault {
	return both(allApart(w, random), splitMaster(w, random))
}

// blindSplit lets neither of two masters' nodes hear of the other: only then
// can a region spend twice all it has.
func blindSplit(w *world, random *rand.Rand) *fault {
	r := w.anyRegion(random)
	return both(allApart(w, random), both(apartIn(r, random), splitIn(w, r, random)))
}

func apartAndDiskFull(w *world, random *rand.Rand) *fault {
	return both(allApart(w, random), diskFull(w, random))
}

func unheardAndSetBack(w *world, random *rand.Rand) *fault {
	return both(unheard(w, random), setBack(w, random))
}

// both injects two faults and mends the second first: what was killed starts
// while the network is still cut.
func both(a, b *fault) *fault {
	f := &fault{name: a.name + ", " + b.name, where: a.where + "; " + b.where, hold: max(a.hold, b.hold),
		hurt: slices.Concat(a.hurt, b.hurt), away: slices.Concat(a.away, b.away),
		mend: func(ctx context.Context) error { return errors.Join(b.mend(ctx), a.mend(ctx)) },
	}
	f.inject = func(ctx context.Context) error {
		err := errors.Join(a.inject(ctx), b.inject(ctx))
		f.mayBeForgotten = a.mayBeForgotten + b.mayBeForgotten
		return err
	}
	return f
}

// touched says whether a fault may take units from a node that it took ahead.
func (f *fault) touched() []*node {
	all := slices.Clone(f.hurt)
	for _, n := range f.away {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
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

// still is a world in which nothing runs: faults can be drawn for it.
func still() *world {
	w := &world{ledger: newLedger()}
	for _, name := range []string{"ap-south", "eu-west", "us-east"} {
		r := &region{name: name}
		for i := range nodesPerRegion {
			r.nodes = append(r.nodes, &node{process: &process{name: fmt.Sprintf("%s-%d", name, i+1)}, region: r, number: i})
		}
		w.regions = append(w.regions, r)
	}
	return w
}

func TestSchedulesAreOfTheirSeeds(t *testing.T) {
	w := still()
	draw := func(seed uint64, n int) (names []string) {
		next := schedule(w, rand.New(rand.NewPCG(seed, 0)), regexp.MustCompile(""))
		for range n {
			f := next()
			names = append(names, f.name+" "+f.where)
		}
		return names
	}
	all := len(slices.Concat(sorts...))
	if a, b := draw(7, all+3), draw(7, all+3); !slices.Equal(a, b) {
		t.Errorf("one seed gave %q, then %q", a, b)
	}
	if a, b := draw(7, 5), draw(8, 5); slices.Equal(a, b) {
		t.Errorf("two seeds gave %q", a)
	}
}

// TestFixedSeedsAreOfEverySort: the short form, which takes three faults of each
// seed or so, shows something of each.
func TestFixedSeedsAreOfEverySort(t *testing.T) {
	w := still()
	named := map[string]int{}
	for i, sort := range sorts {
		for _, k := range sort {
			named[k(w, rand.New(rand.NewPCG(0, 0))).name] = i
		}
	}
	drawn := map[int]bool{}
	for _, seed := range fixedSeeds {
		next := schedule(w, rand.New(rand.NewPCG(seed, 0)), regexp.MustCompile(""))
		for range 3 {
			f := next()
			t.Logf("seed %d: %s", seed, f.name)
			drawn[named[f.name]] = true
		}
	}
	if len(drawn) < len(sorts) {
		t.Errorf("only %d sorts of %d", len(drawn), len(sorts))
	}
}
