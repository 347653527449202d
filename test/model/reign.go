package model

func (c *Config) stepReign(s *State, g *region, nd *node, a action) {
	st := &g.Stores[0]
	switch a.Kind {
	case actClaim:
		st.Marker, st.Valid = markClaim, 1
		g.unclaim(c)
		nd.Phase = phaseClaimed
	case actExchange:
		c.exchange(s, g, nd, a)
		if c.Forsake && nd.Phase == phaseClaimed {
			c.forsake(g, nd, a)
		}
		if ruling := &g.Stores[a.B]; ruling.rules(ruling.Reign) && nd.Phase != phaseClaimed {
			nd.Reign = ruling.Reign + 1
		} else {
			nd.Phase = phaseExchanged
		}
	case actAdopt:
		nd.Reign = g.Stores[a.A].Reign + 1
	case actOpen:
		c.open(g, nd, int(a.Region))
	}
}

// exchange is n exchanging with its region's live nodes. Both sides take
// outstanding replies as lost; those of a peer that does not answer in a second
// are past their deadline.
func (c *Config) exchange(s *State, g *region, nd *node, a action) {
	r := int(a.Region)
	for n := range c.nodes(r) {
		peer := &g.Nodes[n]
		if peer.Call.Kind != callNone {
			peer.Call.Lost = 1
			c.unresolved(&peer.Call)
		}
		if peer == nd {
			continue
		}
		if peer.Up == 1 && a.A == 0 {
			nd.Memory[r].merge(&peer.Memory[r])
			if c.Mutant == AckByOneNode {
				nd.Pledge = max(nd.Pledge, peer.Pledge)
			}
			continue
		}
		if peer.Up == 1 {
			s.Left.Silent--
		}
		g.Ghost.Gone.merge(&peer.Memory[r])
		g.Ghost.Gone.merge(&peer.Disk)
	}
}

// forsake takes those who exchanged for an opening out of every reign before it.
func (c *Config) forsake(g *region, nd *node, a action) {
	for n := range c.nodes(int(a.Region)) {
		if peer := &g.Nodes[n]; peer == nd || peer.Up == 1 && a.A == 0 {
			peer.Left, peer.Reign = 1<<g.Reigns-1, 0
		}
	}
}

func (c *Config) open(g *region, nd *node, r int) {
	st := &g.Stores[0]
	reign := g.Reigns
	if c.Mutant == ReplicaInTwoReigns && reign > 0 {
		reign--
	} else {
		g.Reigns++
	}
	st.Marker, st.Valid, st.Reign = markNonce, 1, reign
	g.unclaim(c)
	nd.Phase = phaseNone
	nd.Reign = reign + 1
	// What the opener knows now is forgotten no longer.
	for k := range g.Ghost.Gone {
		if known := nd.Memory[r][k].Version; known >= g.Ghost.Gone[k].Version {
			g.Ghost.Gone[k] = entry{}
		}
		if known := nd.Memory[r][k].Version; known >= g.Ghost.Lost[k].Version {
			g.Ghost.Lost[k] = entry{}
		}
	}
}

// unclaim fails every opening that is under way.
func (g *region) unclaim(c *Config) {
	if c.Mutant == ClaimSkipped || c.Mutant == ClaimNotUnique {
		return
	}
	for n := range g.Nodes {
		g.Nodes[n].Phase = phaseNone
	}
}

func (c *Config) reignActions(s *State, a action, try func(action)) {
	g := &s.Regions[a.Region]
	nd := &g.Nodes[a.Node]
	st := &g.Stores[0]
	with := at(a, try)
	silent := s.Left.Silent > 0 && c.mayFault(int(a.Region)) && c.nodes(int(a.Region)) > 1 && g.Nodes[1-a.Node].Up == 1
	exchange := func(which uint8) {
		with(actExchange, 0, which)
		if silent {
			with(actExchange, 1, which)
		}
	}
	if nd.Phase == phaseClaimed {
		exchange(0)
	} else {
		c.catchUp(g, nd, exchange, with)
	}
	more := int(g.Reigns) < c.Reigns
	if !more || st.rules(st.Reign) {
		return
	}
	switch {
	case nd.Phase != phaseNone:
	case c.Mutant == ClaimSkipped:
		exchange(0)
	default:
		with(actClaim)
	}
	claimed := st.Marker == markClaim && st.Valid == 1 || c.Mutant == ClaimSkipped
	if nd.Phase == phaseExchanged && claimed {
		with(actOpen)
	}
}

// catchUp is a node taking up a reign that is new to it.
func (c *Config) catchUp(g *region, nd *node, exchange func(uint8), with func(kind, ...uint8)) {
	for i := range g.Stores {
		o := &g.Stores[i]
		switch {
		case !o.rules(o.Reign) || nd.Reign == o.Reign+1 || nd.Left&(1<<o.Reign) != 0:
		case c.Mutant == AdoptedUnexchanged:
			with(actAdopt, uint8(i))
		default:
			exchange(uint8(i))
		}
	}
}
