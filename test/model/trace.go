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

// tell puts an action that is about to happen into words.
func (c *Config) tell(s *State, a action, names *[maxRegions][maxNodes]uint8) string {
	g := &s.Regions[a.Region]
	nd := &g.Nodes[a.Node]
	place := regionName(int(a.Region))
	who := fmt.Sprintf("node %s%d", place, names[a.Region][a.Node]+1)
	reign := func(k uint8) string { return fmt.Sprintf("reign %s.%d", place, k+1) }
	others := func() string {
		return fmt.Sprintf("node %s%d", regionName(int(a.A)), names[a.A][a.B]+1)
	}
	peer := func() string {
		if c.nodes(int(a.Region)) < 2 {
			return "nobody"
		}
		return fmt.Sprintf("node %s%d", place, names[a.Region][1-a.Node]+1)
	}
	lost := func(l uint8) string {
		if l == 1 {
			return ", the reply is lost"
		}
		return ""
	}
	switch a.Kind {
	case actIssue:
		what := "sends a check of 1"
		switch a.A {
		case callLease:
			what = fmt.Sprintf("asks for a lease of %d", a.B)
		case callGive:
			what = fmt.Sprintf("asks to give %s %d in all", regionName(int(a.C)), a.B)
		}
		if !c.Slow {
			t := *s
			c.step(&t, a)
			if t.Regions[a.Region].Nodes[a.Node].Call.Kind == callNone {
				what += "; refused"
			} else {
				what += "; the store applies it, " + t.Regions[a.Region].Nodes[a.Node].Call.Reply.String()
			}
		}
		return fmt.Sprintf("%s %s under %s", who, what, reign(nd.Reign-1))
	case actApply:
		return fmt.Sprintf("the call of %s reaches the store", who)
	case actReply:
		late := ""
		if nd.Call.Lost == 1 {
			late = " late"
		}
		what := [...]string{"", "the check is allowed", "it holds the lease", "the gift is known"}[nd.Call.Kind]
		return fmt.Sprintf("the reply reaches %s%s: %s", who, late, what)
	case actLose:
		return fmt.Sprintf("the reply to %s is lost", who)
	case actAbandon:
		return fmt.Sprintf("%s leaves its unresolved call as charged", who)
	case actSettle:
		return fmt.Sprintf("%s cancels its unresolved call by id%s", who, lost(a.A))
	case actAlone:
		return who + " allows 1 without the store"
	case actSpend:
		return fmt.Sprintf("%s allows 1 from its lease", who)
	case actReturn:
		return fmt.Sprintf("%s stops using its lease of %d left", who, nd.Lease.Units)
	case actReturned:
		return fmt.Sprintf("%s returns the lease of %s under %s%s", who, reign(nd.Lease.Reign), reign(nd.Reign-1), lost(a.A))
	case actForget:
		return fmt.Sprintf("%s gives up returning its lease", who)
	case actRefund:
		again := "refunds"
		if g.Ghost.Fresh[a.A] == 0 {
			again = "refunds once more"
		}
		return fmt.Sprintf("a caller %s a receipt of %s at %s under %s%s", again, reign(a.A), who, reign(nd.Reign-1), lost(a.B))
	case actNews:
		return fmt.Sprintf("%s hears of %s from %s%s", who, reign(a.A), peer(), [...]string{"", ", its P only", ", its N only"}[a.C])
	case actHear:
		return fmt.Sprintf("%s hears of %s from another region", who, reign(a.A))
	case actRead:
		return fmt.Sprintf("%s reads its store's row", who)
	case actSync:
		return fmt.Sprintf("%s writes its rows to disk", who)
	case actClaim:
		return fmt.Sprintf("%s claims the store", who)
	case actExchange:
		if c.nodes(int(a.Region)) > 1 && (a.A == 1 || g.Nodes[1-a.Node].Up == 0) {
			return fmt.Sprintf("%s exchanges; %s does not answer", who, peer())
		}
		return fmt.Sprintf("%s exchanges with %s", who, peer())
	case actAdopt:
		return fmt.Sprintf("%s takes up %s", who, reign(g.Stores[a.A].Reign))
	case actOpen:
		return fmt.Sprintf("%s opens a reign", who)
	case actDeduct:
		return fmt.Sprintf("the store of %s deducts what it gave", place)
	case actCrash:
		if a.A == 1 {
			return who + " crashes and loses its disk"
		}
		return who + " crashes"
	case actRestart:
		return who + " restarts from its disk"
	case actWipe:
		return fmt.Sprintf("the store of %s loses all", place)
	case actCopy:
		return fmt.Sprintf("the replica of %s's store is up to date", place)
	case actFailover:
		if a.A == 1 {
			return fmt.Sprintf("the copy of %s's store takes over, and the old one goes on", place)
		}
		return fmt.Sprintf("the copy of %s's store takes over", place)
	case actDirect:
		return fmt.Sprintf("%s hears of replica %s.%d from node %s%d", who, regionName(int(a.A)), a.B+1,
			regionName(int(a.C)/c.Nodes), names[int(a.C)/c.Nodes][int(a.C)%c.Nodes]+1)
	case actSend:
		return fmt.Sprintf("%s sends what it knows of replica %s.%d", who, regionName(int(a.A)), a.B+1)
	case actDeliver:
		m := &s.Messages[a.A]
		return fmt.Sprintf("%s reads a message: replica %s.%d is %s", who, regionName(int(m.Region)), m.Reign+1, m.Entry)
	case actDrop:
		return "a message is dropped"
	case actPledge:
		return who + " pledges itself to the next split"
	case actAckHear:
		return fmt.Sprintf("%s hears of acknowledgements from %s", who, others())
	case actBegin:
		return "the period begins in region " + place
	case actEnd:
		return "the period ends"
	case actExpire:
		return "region " + place + " drops the rows of the period"
	case actDemote:
		return fmt.Sprintf("the old store of %s stops", place)
	}
	return fmt.Sprintf("%+v", a)
}
