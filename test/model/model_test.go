//go:build !race

// One goroutine walks millions of states: the race detector would find nothing, slowly.

package model

import (
	"flag"
	"testing"
	"time"
)

var (
	large     = flag.Bool("model.large", false, "explore the larger worlds: about an hour, and 10 GB of memory")
	mostLarge = flag.Int("model.states", 60_000_000, "with -model.large, stop a world after so many states")
)

// explore searches a lawful world and fails on any law that is found broken.
func explore(t *testing.T, c Config, states int) Result {
	t.Helper()
	begin := time.Now()
	r := Search(c, 0, states)
	bound := "all"
	if !r.Whole {
		bound = "stopped by the bound on states"
	}
	t.Logf("%s: %d states, depth %d, %s, %.1f s", c.Label(), r.States, r.Depth, bound, time.Since(begin).Seconds())
	if r.Law != "" {
		for _, line := range r.Trace {
			t.Log(line)
		}
		t.Error(r.Law)
	}
	return r
}

// small are worlds that are walked to their end in seconds.
var small = []Config{
	// Three regions of two nodes: no fault, replies lost, one store lost, one
	// node crashed and the store with it.
	{Regions: 3, Nodes: 2, Reigns: 1, Quota: 3, Excess: 1, Budget: budget{Decides: 4, Gives: 2}},
	{Regions: 3, Nodes: 2, Reigns: 1, Quota: 3, Budget: budget{Decides: 4, Gives: 1, Losses: 1}},
	{Regions: 3, Nodes: 2, Reigns: 2, Quota: 3, Budget: budget{Decides: 4, Gives: 1, Wipes: 1}},
	{Regions: 3, Nodes: 2, Reigns: 2, Quota: 3, Spared: 3, Budget: budget{Decides: 3, Gives: 1, Wipes: 1, Crashes: 1}},
	// Gifts and lost replies.
	{Regions: 2, Nodes: 1, Reigns: 1, Quota: 2, Excess: 1, Budget: budget{Decides: 4, Gives: 3, Losses: 2}},
	// A store that is lost twice, with leases, refunds, silent nodes.
	{Regions: 1, Nodes: 2, Reigns: 3, Quota: 3, Cold: true, Budget: budget{Decides: 4, Wipes: 2, Silent: 1}},
	{Regions: 1, Nodes: 2, Reigns: 2, Quota: 3, Budget: budget{Decides: 2, Leases: 2, Wipes: 1, Losses: 1}},
	{Regions: 1, Nodes: 2, Reigns: 2, Quota: 3, Budget: budget{Decides: 4, Refunds: 2, Wipes: 1, Silent: 1}},
	{Regions: 1, Nodes: 3, Reigns: 2, Quota: 2, Budget: budget{Decides: 3, Wipes: 1, Crashes: 1, Silent: 1}},
	{Regions: 1, Nodes: 3, Reigns: 3, Quota: 2, Budget: budget{Decides: 4, Wipes: 2}},
	// A store set back, and two masters, with calls that arrive late.
	{Regions: 1, Nodes: 2, Reigns: 2, Quota: 2, Slow: true, Budget: budget{Decides: 4, Failovers: 1, Losses: 1, Silent: 1}},
	{Regions: 1, Nodes: 2, Reigns: 2, Quota: 2, Slow: true, Budget: budget{Decides: 3, Failovers: 1, Splits: 1, Losses: 1}},
	{Regions: 2, Nodes: 1, Reigns: 3, Quota: 2, Budget: budget{Decides: 3, Gives: 1, Failovers: 2, Splits: 1}},
	// Nodes that crash, with and without their disks.
	{Regions: 1, Nodes: 2, Reigns: 2, Quota: 3, Budget: budget{Decides: 3, Wipes: 1, Crashes: 2, Disks: 1}},
	{Regions: 2, Nodes: 1, Reigns: 2, Quota: 3, Budget: budget{Decides: 3, Gives: 1, Leases: 1, Wipes: 1, Crashes: 1}},
	// Decisions without the store.
	{Regions: 1, Nodes: 2, Reigns: 4, Quota: 3, Budget: budget{Decides: 3, Opens: 3, Wipes: 1}},
	// What nodes know of other regions, with messages that come late and again.
	{Regions: 3, Nodes: 1, Reigns: 1, Quota: 3, Gossip: true, Delayed: 1, Budget: budget{Decides: 3, Gives: 2, Gossip: 1}},
	{Regions: 3, Nodes: 2, Reigns: 1, Quota: 3, Gossip: true, Budget: budget{Decides: 2, Gives: 1}},
	{Regions: 2, Nodes: 1, Reigns: 2, Quota: 2, Excess: 1, Gossip: true, Delayed: 1, Budget: budget{Decides: 3, Gives: 1, Gossip: 1, Wipes: 1, Crashes: 1}},
	// A change of split, and the end of the period.
	{Regions: 2, Nodes: 2, Reigns: 2, Quota: 2, NextSplit: []int{2, 0}, Spared: 1, Lone: 1, Budget: budget{Decides: 3, Wipes: 1, Silent: 1}},
	{Regions: 3, Nodes: 1, Reigns: 1, Quota: 3, NextSplit: []int{2, 0, 1}, Budget: budget{Decides: 3}},
	{Regions: 2, Nodes: 1, Reigns: 2, Quota: 2, Period: true, Slow: true, Budget: budget{Decides: 3, Gives: 1, Wipes: 1, Losses: 1}},
}

// big are worlds for an hour of one core.
var big = []Config{
	{Regions: 3, Nodes: 2, Reigns: 2, Quota: 3, Budget: budget{Decides: 3, Gives: 1, Wipes: 1, Crashes: 1}},
	{Regions: 3, Nodes: 2, Reigns: 2, Quota: 4, Excess: 1, Budget: budget{Decides: 5, Gives: 2, Wipes: 1}},
	{Regions: 3, Nodes: 2, Reigns: 2, Quota: 3, Budget: budget{Decides: 4, Gives: 1, Wipes: 1, Silent: 1, Losses: 1}},
	{Regions: 3, Nodes: 2, Reigns: 2, Quota: 3, Budget: budget{Decides: 4, Gives: 1, Failovers: 1, Splits: 1}},
	{Regions: 3, Nodes: 2, Reigns: 2, Quota: 3, Budget: budget{Decides: 4, Gives: 1, Wipes: 1, Crashes: 1}},
	{Regions: 3, Nodes: 2, Reigns: 2, Quota: 3, Gossip: true, Budget: budget{Decides: 3, Gives: 1, Wipes: 1}},
	{Regions: 3, Nodes: 2, Reigns: 3, Quota: 3, Budget: budget{Decides: 4, Gives: 1, Wipes: 2}},
	{Regions: 2, Nodes: 2, Reigns: 2, Quota: 2, Excess: 1, Gossip: true, Delayed: 1, Budget: budget{Decides: 3, Gives: 1, Gossip: 1, Wipes: 1, Crashes: 1}},
	{Regions: 2, Nodes: 2, Reigns: 3, Quota: 3, Budget: budget{Decides: 3, Gives: 2, Failovers: 2, Silent: 1, Reads: 1}},
	{Regions: 2, Nodes: 2, Reigns: 3, Quota: 3, Slow: true, Budget: budget{Decides: 3, Gives: 1, Wipes: 1, Failovers: 1, Splits: 1}},
	{Regions: 2, Nodes: 2, Reigns: 2, Quota: 3, Budget: budget{Decides: 2, Gives: 1, Leases: 1, Refunds: 1, Wipes: 1, Crashes: 1, Losses: 1}},
	{Regions: 2, Nodes: 2, Reigns: 4, Quota: 3, Budget: budget{Decides: 3, Opens: 2, Wipes: 1, Crashes: 1}},
	{Regions: 1, Nodes: 2, Reigns: 4, Quota: 4, Cold: true, Budget: budget{Decides: 5, Leases: 1, Wipes: 2, Failovers: 1, Silent: 2, Losses: 1}},
	{Regions: 2, Nodes: 2, Reigns: 2, Quota: 2, NextSplit: []int{2, 0}, Budget: budget{Decides: 3, Wipes: 1, Crashes: 1}},
}

func TestExhaustive(t *testing.T) {
	worlds, states := small, 3_000_000
	if *large {
		worlds, states = big, *mostLarge
	}
	sum := 0
	for _, c := range worlds {
		t.Run(c.Label(), func(t *testing.T) {
			r := explore(t, c, states)
			if !r.Whole && !*large && r.Law == "" {
				t.Errorf("not walked to its end in %d states: make the world smaller", r.States)
			}
			sum += r.States
		})
	}
	t.Logf("%d states in all", sum)
}

// The packed form must hold all of a state, and the hash must not depend on the run.
func TestPackedStatesComeBack(t *testing.T) {
	c := small[3]
	s := c.start()
	for range 40 {
		var all []action
		c.successors(&s, func(a action) { all = append(all, a) })
		if len(all) == 0 {
			break
		}
		c.step(&s, all[len(all)/2])
		var back State
		unpack(pack(nil, &s), &back)
		if back != s {
			t.Fatalf("packed and unpacked, the state is another one:\n%+v\n%+v", s, back)
		}
	}
	first := c.start()
	if got, want := hash(&first), hash(&first); got != want {
		t.Errorf("the hash of one state is %x and %x", got, want)
	}
}
