package model

func (c *Config) stepReign(s *State, g *region, nd *node, a action) {
	st := &g.Stores[0]
	switch a.Kind {
	case actClaim:
		st.Marker, st.Valid = markClaim, 1
		g.unclaim(c)
		nd.Phase = phaseClaimed
	case actAnswer:
		c.answer(g, nd, int(a.Region))
	case actExchange:
		c.exchange(s, g, nd, a)
		if ruling := &g.Stores[a.B]; ruling.rules(ruling.Reign) && nd.Phase != phaseClaimed {
			nd.Reign = ruling.Reign + 1
			break
		}
		if c.Forsake {
			nd.Left, nd.Reign = 1<<g.Reigns-1, 0
		}
		nd.Phase = phaseExchanged
	case actAdopt:
		nd.Reign = g.Stores[a.A].Reign + 1
	case actOpen:
		c.open(g, nd, int(a.Region))
	}
}

// answer is a node answering whoever opens a reign. Both take outstanding replies
// as lost.
func (c *Config) answer(g *region, nd *node, r int) {
	nd.Answered = 1
	c.loseReply(nd)
	if c.Forsake {
		nd.Left, nd.Reign = 1<<g.Reigns-1, 0
	}
	for n := range c.nodes(r) {
		if opener := &g.Nodes[n]; opener.Phase == phaseClaimed {
			c.loseReply(opener)
			c.learn(opener, nd, r)
		}
	}
}

func (c *Config) loseReply(nd *node) {
	if nd.Call.Kind != callNone {
		nd.Call.Lost = 1
		c.unresolved(&nd.Call)
	}
}

func (c *Config) learn(nd, from *node, r int) {
	nd.Memory[r].merge(&from.Memory[r])
	if c.Mutant == AckByOneNode {
		nd.Pledge = max(nd.Pledge, from.Pledge)
	}
}

// exchange ends an exchange. That of an opening has its answers; one that takes up
// a reign is a single step. The replies due to a peer that does not answer in a
// second are past their deadline.
func (c *Config) exchange(s *State, g *region, nd *node, a action) {
	r := int(a.Region)
	c.loseReply(nd)
	for n := range c.nodes(r) {
		peer := &g.Nodes[n]
		if peer == nd || nd.Phase == phaseClaimed && peer.Answered == 1 {
			continue
		}
		c.loseReply(peer)
		if peer.Up == 1 && a.A == 0 {
			c.learn(nd, peer, r)
			continue
		}
		if peer.Up == 1 {
			s.Left.Silent--
		}
		g.Ghost.Gone.merge(&peer.Memory[r])
		g.Ghost.Gone.merge(&peer.Disk)
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

func (g *region) unanswer() {
	for n := range g.Nodes {
		g.Nodes[n].Answered = 0
	}
}

// unclaim fails every opening that is under way.
func (g *region) unclaim(c *Config) {
	g.unanswer()
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
	with := at(a, try)
	waits, asked := c.unanswered(g, nd, int(a.Region))
	if asked {
		with(actAnswer)
	}
	exchange := func(which uint8) {
		if waits == 0 || nd.Phase != phaseClaimed {
			with(actExchange, 0, which)
		}
		if waits > 0 && waits <= int(s.Left.Silent) && c.mayFault(int(a.Region)) {
			with(actExchange, 1, which)
		}
	}
	if nd.Phase == phaseClaimed {
		exchange(0)
	} else {
		c.catchUp(g, nd, exchange, with)
	}
	if st := &g.Stores[0]; int(g.Reigns) < c.Reigns && !st.rules(st.Reign) {
		c.openingActions(st, nd, exchange, with)
	}
}

// openingActions are the steps towards a new reign.
func (c *Config) openingActions(st *store, nd *node, exchange func(uint8), with func(kind, ...uint8)) {
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

// unanswered counts the live peers that a node's exchange waits for, and says
// whether somebody waits for this one.
func (c *Config) unanswered(g *region, nd *node, r int) (waits int, asked bool) {
	for n := range c.nodes(r) {
		peer := &g.Nodes[n]
		if peer == nd {
			continue
		}
		if peer.Up == 1 && (nd.Phase != phaseClaimed || peer.Answered == 0) {
			waits++
		}
		asked = asked || peer.Phase == phaseClaimed && nd.Answered == 0
	}
	return waits, asked
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
