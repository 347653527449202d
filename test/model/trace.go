package model

import (
	"fmt"
	"math/bits"
	"strings"
)

func regionName(r int) string { return string(rune('A' + r)) }

// Label names a world by what it is made of and what may happen in it.
func (c *Config) Label() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%dx%d Q=%d", c.Regions, c.Nodes, c.Quota)
	for _, part := range []struct {
		name string
		n    int
	}{
		{"excess", c.Excess}, {"reigns", c.Reigns}, {"late-messages", c.Delayed},
		{"checks", int(c.Budget.Decides)}, {"gifts", int(c.Budget.Gives)}, {"leases", int(c.Budget.Leases)},
		{"refunds", int(c.Budget.Refunds)}, {"lost-replies", int(c.Budget.Losses)}, {"sends", int(c.Budget.Gossip)},
		{"reads", int(c.Budget.Reads)}, {"wipes", int(c.Budget.Wipes)}, {"failovers", int(c.Budget.Failovers)},
		{"two-masters", int(c.Budget.Splits)}, {"crashes", int(c.Budget.Crashes)}, {"disks-lost", int(c.Budget.Disks)},
		{"silent", int(c.Budget.Silent)}, {"opens", int(c.Budget.Opens)},
		{"regions-spared", bits.OnesCount8(c.Spared)}, {"regions-of-one", bits.OnesCount8(c.Lone)},
	} {
		if part.n > 0 {
			fmt.Fprintf(&b, " %s=%d", part.name, part.n)
		}
	}
	for _, part := range []struct {
		name string
		is   bool
	}{{"gossip", c.Gossip}, {"slow", c.Slow}, {"cold", c.Cold}, {"split", c.NextSplit != nil}, {"period", c.Period}} {
		if part.is {
			b.WriteString(" " + part.name)
		}
	}
	return b.String()
}

func (e entry) String() string {
	return fmt.Sprintf("v%d P=%d N=%d given=%v", e.Version, e.Taken, e.Back, e.Given)
}

// trace walks the path to the last state again and tells it. Nodes keep their
// names although the canonical form moves them.
func (c *Config) trace(paths []came) []string {
	var steps []action
	for i := uint32(len(paths) - 1); i != 0; i = paths[i].from {
		steps = append(steps, paths[i].by)
	}
	s := c.start()
	var names [maxRegions][maxNodes]uint8
	for r := range names {
		for n := range names[r] {
			names[r][n] = uint8(n)
		}
	}
	rename := func() {
		moved := canonical(&s, c)
		was := names
		for r := range moved {
			for n, to := range moved[r] {
				names[r][to] = was[r][n]
			}
		}
	}
	rename()
	var told []string
	for i := len(steps) - 1; i >= 0; i-- {
		line := c.tell(&s, steps[i], &names)
		c.step(&s, steps[i])
		told = append(told, fmt.Sprintf("%2d. %s", len(told)+1, line))
		rename()
	}
	return told
}
