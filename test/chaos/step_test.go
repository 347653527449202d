package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	weirv1 "weir/proto/weir/v1"
)

// Bounds on what a fault costs.
const (
	cutOffWithin = 12 * time.Second // from the cut to "cut off"
	touchWithin  = 5 * time.Second  // from healing to "in touch"
	equalWithin  = 5 * time.Second  // from healing to equal values, under load
	exactWithin  = 5 * time.Second  // from the last answer to the exact value
	aheadTime    = 3 * time.Second  // after which a node has returned what it took ahead
	maxSilence   = 2 * time.Second  // of a node that no fault touches
	flowTime     = 3500 * time.Millisecond

	// excuse is how many answers of such a node may be that the store was away
	// for each time that the test itself had to wait for that store.
	excuse = 5
	// busy is the part of the test's own calls to Redis that are slow, one in so
	// many, from which the machine has no time for what must happen within two
	// seconds.
	busy = 4
)

// step is one fault's course.
type step struct {
	number int
	fault  *fault
	began  time.Duration // since the run began
	healed time.Duration // the same, when it was mended
	// How long the fault lasted, how long until every region that could not be
	// heard was called cut off (0: none was), how long mending took (for nodes:
	// until they were ready and served), and from then on until all were in
	// touch and equal.
	held, cutOff, mended, touch, equal time.Duration
	exact                              time.Duration // from the last answer
	mayBeForgotten, forgotten          int64         // units
	pulses                             []beats       // before it, in the order of the world's regions
	regions                            []outcome     // the same
	problems                           []string
	broken                             bool // the nodes did not come to the same
	excused                            int  // waits for rights while the machine was busy
}

func (s *step) problem(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// step injects a fault, mends it and checks everything. It returns what it
// saw, with the problems found.
func (c *course) step(ctx context.Context, number int, f *fault) *step {
	s := &step{number: number, fault: f, began: time.Since(c.began)}
	before := c.tallies()
	for _, r := range c.world.regions {
		s.pulses = append(s.pulses, r.store.pulse.beats())
	}
	c.monitor.setCalm(f.calm)
	err := c.endure(ctx, s)
	if err == nil {
		err = c.recover(ctx, s)
	}
	if err == nil {
		err = c.flow(ctx, s)
	}
	if err == nil {
		err = c.settle(ctx, s)
	}
	if err != nil {
		s.problem("%v", err)
		s.broken = true
	}
	c.blame(s, before)
	s.problems = append(s.problems, c.world.ledger.over()...)
	s.problems = append(s.problems, c.world.load.takeProblems()...)
	s.problems = append(s.problems, c.monitor.takeProblems()...)
	if err := c.world.alive(); err != nil {
		s.problem("%v", err)
	}
	return s
}

// endure injects the fault and lets it last.
func (c *course) endure(ctx context.Context, s *step) error {
	w, injected := c.world, time.Now()
	w.load.step.Store(int64(s.number))
	w.load.broken.Store(!s.fault.calm)
	defer func() {
		w.load.broken.Store(false)
		w.load.settleInFlight() // none of them comes when the fault is over
		s.held, s.mayBeForgotten = time.Since(injected), s.fault.mayBeForgotten
	}()
	if err := s.fault.inject(ctx); err != nil {
		return fmt.Errorf("inject: %w", err)
	}
	for _, n := range s.fault.touched() {
		w.ledger.unsettle("hot", n.region.name, 1)
	}
	if c.someUnheard() {
		err := until(ctx, cutOffWithin, "regions that cannot be heard are called cut off", func() (bool, string) {
			what := badTouch(w.look(ctx), func(observer, subject string) weirv1.Touch {
				if !w.network.hears(observer, subject, false) {
					return weirv1.Touch_TOUCH_CUT_OFF
				}
				return weirv1.Touch_TOUCH_UNSPECIFIED
			})
			return what == "", what
		})
		if err != nil {
			return err
		}
		s.cutOff = time.Since(injected)
	}
	if err := last(ctx, s.fault.hold-time.Since(injected)); err != nil {
		return err
	}
	c.checkReached(ctx, s)
	return nil
}

// someUnheard says whether news of some region cannot come to another.
func (c *course) someUnheard() bool {
	n := c.world.network
	for _, a := range n.regions {
		for _, b := range n.regions {
			if !n.hears(a, b, false) {
				return true
			}
		}
	}
	return false
}

// checkReached tells of regions that are called cut off although news of them
// can come, if only through a third region.
func (c *course) checkReached(ctx context.Context, s *step) {
	for _, v := range c.world.look(ctx) {
		for subject, touch := range v.touch {
			down := !slices.ContainsFunc(c.world.region(subject).nodes, func(n *node) bool { return n.open.Load() })
			if touch == weirv1.Touch_TOUCH_CUT_OFF && c.world.network.hears(v.node.region.name, subject, true) && !down {
				s.problem("%s calls %s cut off, which it can hear", v.node.name, subject)
			}
		}
	}
}

// recover mends the fault and waits until all are in touch and equal, with
// clients calling all the time.
func (c *course) recover(ctx context.Context, s *step) error {
	w, began := c.world, time.Now()
	if err := s.fault.mend(ctx); err != nil {
		return fmt.Errorf("mend: %w", err)
	}
	healed := time.Now()
	s.mended, s.healed = healed.Sub(began), healed.Sub(c.began)
	goal := own(w.look(ctx))
	touched := make(chan error, 1)
	go func() {
		touched <- until(ctx, touchWithin, "all regions are in touch after healing", func() (bool, string) {
			what := badTouch(w.look(ctx), func(string, string) weirv1.Touch { return weirv1.Touch_TOUCH_IN_TOUCH })
			s.touch = time.Since(healed)
			return what == "", what
		})
	}()
	equal := until(ctx, equalWithin, "all nodes show what each region had at healing", func() (bool, string) {
		what := behind(w.look(ctx), goal)
		s.equal = time.Since(healed)
		return what == "", what
	})
	return errors.Join(equal, <-touched)
}

// flow lets clients call for a time with nothing broken, in which rights must
// come to where they are needed.
func (c *course) flow(ctx context.Context, s *step) error {
	before := c.beats()
	c.world.stalls.begin(time.Now())
	err := last(ctx, flowTime)
	c.world.stalls.end()
	if found, beats := c.world.stalls.takeProblems(), c.beats().minus(before); beats.slow*busy > beats.asked {
		s.excused += len(found)
	} else {
		s.problems = append(s.problems, found...)
	}
	return err
}

// beats adds up those of all regions.
func (c *course) beats() (sum beats) {
	for _, r := range c.world.regions {
		sum = sum.plus(r.store.pulse.beats())
	}
	return sum
}

// settle stops the clients and waits until all nodes show the same, within the
// bounds that the ledger sets.
func (c *course) settle(ctx context.Context, s *step) error {
	w := c.world
	w.load.pause()
	defer w.load.resume()
	paused := time.Now()
	var shown map[counted]int64
	err := until(ctx, exactWithin, "all nodes show the same, within the ledger's bounds", func() (bool, string) {
		views := w.look(ctx)
		if what := different(views); what != "" {
			return false, what
		}
		if len(views) == 0 {
			return false, "no node is open"
		}
		if s.mayBeForgotten > 0 && time.Since(paused) < aheadTime {
			return false, "units taken ahead may not be returned yet"
		}
		shown = views[0].net
		wrong := w.ledger.wrong(shown)
		return len(wrong) == 0, strings.Join(wrong, "; ")
	})
	s.exact = time.Since(paused)
	if err == nil {
		s.forgotten = w.ledger.settle(shown)
		c.agree(shown)
	}
	return err
}

// agree keeps what every node shows. The clients are still.
func (c *course) agree(shown map[counted]int64) {
	c.shown, c.sums = shown, map[string]account{}
	for _, r := range c.world.regions {
		c.sums[r.name] = c.world.ledger.sums(r.name)
	}
	c.world.load.usedUp = map[pot]bool{}
	used := map[pot]int64{}
	for part, units := range shown {
		used[part.pot] += units
	}
	for p, units := range used {
		if units >= quotaOf(p.rule).limit && p.rule != "hot" { // of that, some may be returned
			c.world.load.usedUp[p] = true
		}
	}
}
