package model

import "fmt"

// ghost is what the checker remembers of a region and no node could know: what
// was truly allowed, and what was lost with whom.
type ghost struct {
	Allowed uint8            // units callers were told they have, less what they gave back
	Granted uint8            // overdraft that lost knowledge excuses, at its highest
	Forked  uint8            // overdraft that second masters excuse
	Fresh   [maxReigns]uint8 // receipts of each reign that callers hold
	Used    [maxReigns]uint8 // those that its store has counted as given back
	// Outside is the newest of each replica that left the region.
	Outside entries
	// Gone is what only nodes that did not answer an exchange knew; Lost what a
	// crash took from a node's memory. Both excuse a store that was not told.
	Gone, Lost entries
	History    [maxReigns][maxHistory]uint8 // net, by version; with Config.History
}

// received is what other regions truly gave to r: it has left them.
func (s *State) received(r int) int {
	sum := 0
	for from := range s.Regions {
		if from == r {
			continue
		}
		for k := range s.Regions[from].Ghost.Outside {
			sum += int(s.Regions[from].Ghost.Outside[k].Given[r])
		}
	}
	return sum
}

// held is what the region's nodes hold in leases.
func (g *region) held() int {
	sum := 0
	for n := range g.Nodes {
		if g.Nodes[n].Lease.Stage == leaseHeld {
			sum += int(g.Nodes[n].Lease.Units)
		}
	}
	return sum
}

// pending is what replies on their way may yet allow.
func (g *region) pending() int {
	sum := 0
	for n := range g.Nodes {
		cl := &g.Nodes[n].Call
		if cl.Stage == callApplied && cl.Lost == 0 && cl.Kind != callGive {
			sum += int(cl.Units)
		}
	}
	return sum
}

// local is the newest of each of the region's replicas that its nodes and serving
// stores hold.
func (g *region) local() entries {
	var all entries
	for i := range g.Stores {
		if g.Stores[i].Mode == copyServing {
			all.merge(&g.Stores[i].Row)
		}
	}
	return all
}

// remaining is what the region may truly still let through: negative is an
// overdraft.
func (c *Config) remaining(s *State, r int) int {
	g := &s.Regions[r]
	left := c.even(r) + s.received(r) - int(g.Ghost.Allowed) - g.held()
	for k := range g.Ghost.Outside {
		left -= g.Ghost.Outside[k].gifts()
	}
	return left
}

// whole is the net of the newest version that is known whole.
func (c *Config) whole(g *region, k int, e entry) int {
	if !c.History {
		return e.net()
	}
	version := e.Version
	if c.Mutant == SeparateDeltas {
		version = min(version, e.BackVersion)
	}
	return int(g.Ghost.History[k][version])
}

// excuse is called when a store has just decided. It raises what the region may
// be overdrawn to what this store was not told and the faults of the path excuse.
func (c *Config) excuse(s *State, r int, st *store) {
	g := &s.Regions[r]
	known := g.local()
	known.merge(&g.Stores[1].Row)
	for n := range g.Nodes {
		known.merge(&g.Nodes[n].Memory[r])
		known.merge(&g.Nodes[n].Disk)
	}
	known.merge(&g.Ghost.Outside)
	for i := range s.Messages {
		if m := &s.Messages[i]; m.Set == 1 && int(m.Region) == r {
			known[m.Reign].merge(m.Entry)
		}
	}
	left := c.even(r) + s.received(r) - int(g.Ghost.Allowed) - g.held() - g.pending()
	for k := range known {
		left -= known[k].gifts()
	}
	g.Ghost.Granted = max(g.Ghost.Granted, uint8(max(0, min(-left, c.missing(s, r, st, &known)))))
}

// missing is what a store does not know of its region's earlier replicas and is
// excused for: what only nodes that are gone knew, gifts that only a lost copy
// held, and what a process counts by itself until it calls.
func (c *Config) missing(s *State, r int, st *store, known *entries) int {
	g := &s.Regions[r]
	sum := 0
	for k := range st.Row {
		if k == int(st.Reign) {
			continue
		}
		gone, lost := g.Ghost.Gone[k], g.Ghost.Lost[k]
		told := c.whole(g, k, st.Row[k])
		most := max(told, c.whole(g, k, gone), c.whole(g, k, lost))
		if g.Alone&(1<<k) != 0 {
			most = max(most, known[k].net())
		}
		gifts := max(st.Row[k].gifts(), gone.gifts())
		if other := &g.Stores[1]; other != st && other.Mode == copyFrozen {
			gifts = max(gifts, other.Row[k].gifts())
		}
		gifts = max(gifts, min(lost.gifts(), s.onTheirWay(r, k)))
		sum += most - told + gifts - st.Row[k].gifts()
	}
	return sum
}

// onTheirWay is what messages say that a replica gave. A crash forgets a gift that
// was not fsynced, but a message about it may still be on its way within the region.
func (s *State) onTheirWay(r, k int) int {
	most := 0
	for i := range s.Messages {
		if m := &s.Messages[i]; m.Set == 1 && int(m.Region) == r && int(m.Reign) == k {
			most = max(most, m.Entry.gifts())
		}
	}
	return most
}

// check is the laws. It says which is broken, or nothing.
func (c *Config) check(s *State) string {
	allowed, excused := 0, 0
	for r := range c.Regions {
		g := &s.Regions[r].Ghost
		allowed += int(g.Allowed)
		excused += int(g.Granted) + int(g.Forked)
	}
	if c.Strict {
		excused = 0
	}
	if allowed > c.total()+excused {
		return fmt.Sprintf("bound: %d allowed, Q + ε = %d, and faults excuse %d more", allowed, c.total(), excused)
	}
	for r := range c.Regions {
		if s.Ended != 0 {
			break // its rows are dropped; that nothing is allowed any more is the bound's
		}
		if law := c.checkValue(s, r); law != "" {
			return law
		}
		if law := c.checkEqual(s, r); law != "" {
			return law
		}
		if c.Mutant != LawAbiding || c.NextSplit != nil || c.Strict {
			continue // a law-breaker is to be caught at worse; what a split gives depends on views
		}
		g := &s.Regions[r].Ghost
		if over := -c.remaining(s, r); over > int(g.Granted)+int(g.Forked) {
			return fmt.Sprintf("rights: region %s is overdrawn by %d, and faults excuse %d", regionName(r), over, int(g.Granted)+int(g.Forked))
		}
	}
	return ""
}

// everywhere calls look with every copy of every replica of region r.
func (s *State) everywhere(r int, look func(k int, e entry)) {
	all := func(es *entries) {
		for k := range es {
			if es[k].Version > 0 {
				look(k, es[k])
			}
		}
	}
	g := &s.Regions[r]
	for i := range g.Stores {
		all(&g.Stores[i].Row)
	}
	for n := range g.Nodes {
		all(&g.Nodes[n].Disk)
	}
	all(&g.Ghost.Outside)
	for o := range s.Regions {
		for n := range s.Regions[o].Nodes {
			all(&s.Regions[o].Nodes[n].Memory[r])
		}
	}
	for i := range s.Messages {
		if m := &s.Messages[i]; m.Set == 1 && int(m.Region) == r {
			look(int(m.Reign), m.Entry)
		}
	}
}

// checkValue holds that what was allowed is known to somebody, unless it was
// forgotten: known to nobody but the memory of a node that crashed.
func (c *Config) checkValue(s *State, r int) string {
	g := &s.Regions[r]
	known := g.local()
	for n := range g.Nodes {
		known.merge(&g.Nodes[n].Disk)
	}
	for o := range s.Regions {
		for n := range s.Regions[o].Nodes {
			known.merge(&s.Regions[o].Nodes[n].Memory[r])
		}
	}
	for i := range s.Messages {
		if m := &s.Messages[i]; m.Set == 1 && int(m.Region) == r {
			known[m.Reign].merge(m.Entry)
		}
	}
	value, forgotten := 0, 0
	for k := range known {
		value += known[k].net()
		forgotten += max(0, c.whole(g, k, g.Ghost.Lost[k])-c.whole(g, k, known[k]))
	}
	due := int(g.Ghost.Allowed) + g.held()
	if value+forgotten < due {
		return fmt.Sprintf("value: region %s has let %d through or leased them, its rows say %d, %d are forgotten", regionName(r), due, value, forgotten)
	}
	return ""
}

// checkEqual holds that a version of a replica is the same wherever it is: then
// merging by the higher version makes all nodes equal whatever the order.
func (c *Config) checkEqual(s *State, r int) string {
	if c.Mutant == SeparateDeltas {
		return "" // one version is two there
	}
	var seen [maxReigns][32]entry
	law := ""
	s.everywhere(r, func(k int, e entry) {
		at := &seen[k][e.Version%32]
		if at.Version == 0 {
			*at = e
		} else if *at != e && law == "" {
			law = fmt.Sprintf("equal: version %d of replica %s%d is %s here and %s there", e.Version, regionName(r), k+1, e, *at)
		}
	})
	return law
}
