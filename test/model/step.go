package model

// step changes s by an action that successors found possible.
func (c *Config) step(s *State, a action) {
	g := &s.Regions[a.Region]
	nd := &g.Nodes[a.Node]
	switch a.Kind {
	case actIssue, actApply, actReply, actLose, actAbandon, actSettle, actAlone:
		c.stepCall(s, g, nd, a)
	case actSpend, actReturn, actReturned, actForget, actRefund:
		c.stepLease(s, g, nd, a)
	case actClaim, actExchange, actAdopt, actOpen:
		c.stepReign(s, g, nd, a)
	case actNews, actHear, actRead, actSync, actCrash, actRestart:
		c.stepNode(s, g, nd, a)
	case actDeduct, actWipe, actCopy, actFailover, actDemote:
		c.stepStore(s, g, a)
	case actSend, actDeliver, actDrop, actDirect:
		c.stepGossip(s, nd, a)
	case actPledge, actAckHear, actBegin:
		c.stepSplit(s, g, nd, a)
	case actEnd, actExpire:
		c.stepPeriod(s, g, a)
	}
	c.settle(s)
}

func (c *Config) stepCall(s *State, g *region, nd *node, a action) {
	cl := &nd.Call
	switch a.Kind {
	case actIssue:
		c.issue(s, nd, a)
		if !c.Slow {
			c.arrive(s, g, nd, int(a.Region))
		}
	case actApply:
		c.arrive(s, g, nd, int(a.Region))
	case actReply:
		nd.Memory[a.Region][cl.Reign].merge(cl.Reply)
		switch cl.Kind {
		case callDecide:
			g.Ghost.Allowed += cl.Units
			g.Ghost.Fresh[cl.Reign] += cl.Units
		case callLease:
			nd.Lease = lease{Stage: leaseHeld, Reign: cl.Reign, Units: cl.Units}
		}
		*cl = call{}
	case actLose:
		s.Left.Losses--
		cl.Lost = 1
		c.unresolved(cl)
	case actAbandon:
		*cl = call{}
	case actSettle:
		c.cancel(g, nd, a)
	case actAlone:
		c.alone(s, g, nd, int(a.Region))
	}
}

// unresolved drops what does not matter any more of a call whose reply is lost.
func (c *Config) unresolved(cl *call) {
	if cl.Kind == callGive && c.Mutant != LateReplyBelieved && cl.Stage == callApplied {
		*cl = call{}
		return
	}
	if c.Mutant != LateReplyBelieved {
		cl.Reply = entry{}
	}
}

func (c *Config) issue(s *State, nd *node, a action) {
	cl := &nd.Call
	*cl = call{Kind: a.A, Stage: callSent, Reign: nd.Reign - 1, Units: a.B, To: a.C}
	cl.Told = nd.Memory[a.Region]
	cl.Told[cl.Reign] = entry{}
	cl.Acks, cl.Pledge = nd.Acks, nd.Pledge
	if c.Gossip {
		for r := range c.Regions {
			if r == int(a.Region) {
				continue
			}
			for k := range nd.Memory[r] {
				cl.Received += nd.Memory[r][k].Given[a.Region]
				cl.Elsewhere += uint8(max(nd.Memory[r][k].net(), 0))
			}
		}
	} else {
		cl.Received = uint8(s.received(int(a.Region)))
	}
	switch a.A {
	case callDecide:
		s.Left.Decides--
	case callLease:
		s.Left.Leases--
	case callGive:
		s.Left.Gives--
	}
}

// arrive is a call reaching the store: it is applied, or denied, or refused
// because the reign is another one. A denial is heard at once: it changes nothing
// but what the store was told.
func (c *Config) arrive(s *State, g *region, nd *node, r int) {
	cl := &nd.Call
	st := g.ruled(cl.Reign)
	if st != nil {
		c.nameSplit(st, nd, cl)
	}
	ended := s.Ended != 0 && c.Mutant != PeriodUnchecked
	if st == nil || ended || !c.decide(r, st, cl) {
		*cl = call{}
		return
	}
	cl.Stage = callApplied
	cl.Told, cl.Received, cl.Elsewhere, cl.Acks, cl.Pledge = entries{}, 0, 0, [maxRegions]uint8{}, 0
	c.note(g, st)
	c.excuse(s, r, st)
	if cl.Lost == 1 {
		c.unresolved(cl)
	}
}

// note keeps the history of the reign's entry.
func (c *Config) note(g *region, st *store) {
	if c.History {
		own := st.Row[st.Reign]
		g.Ghost.History[st.Reign][own.Version] = uint8(max(own.net(), 0))
	}
}

// alone is a check that a node allows without its store. It is counted in a
// replica of this process, and whatever it overdraws is excused.
func (c *Config) alone(s *State, g *region, nd *node, r int) {
	s.Left.Opens--
	if nd.Alone == 0 {
		nd.Alone = g.Reigns + 1
		if c.Mutant == OpenInStoreReplica {
			nd.Alone = max(nd.Reign, 1)
		} else {
			g.Alone |= 1 << g.Reigns
			g.Reigns++
		}
	}
	e := &nd.Memory[r][nd.Alone-1]
	e.Taken++
	e.Version++
	g.Ghost.Allowed++
	over := max(0, g.pending()-c.remaining(s, r))
	g.Ghost.Granted = max(g.Ghost.Granted, uint8(over))
}

func (c *Config) cancel(g *region, nd *node, a action) {
	cl := &nd.Call
	if cl.Stage == callApplied {
		st := g.ruled(cl.Reign)
		e := c.write(st, func(e *entry) { e.Back += cl.Units })
		c.note(g, st)
		if a.A == 0 {
			nd.Memory[a.Region][cl.Reign].merge(e)
		}
	}
	if c.Mutant == LateReplyBelieved && cl.Stage == callApplied {
		cl.Cancelled = 1
		return
	}
	// A call that comes after its cancellation does nothing, and a cancellation
	// that is repeated does nothing.
	*cl = call{}
}

func (c *Config) stepLease(s *State, g *region, nd *node, a action) {
	le := &nd.Lease
	switch a.Kind {
	case actSpend:
		le.Units--
		g.Ghost.Allowed++
		g.Ghost.Fresh[le.Reign]++
		if le.Units == 0 {
			*le = lease{}
		}
	case actReturn:
		le.Stage = leaseReturning
	case actReturned:
		c.returned(g, nd, a)
	case actForget:
		*le = lease{}
	case actRefund:
		s.Left.Refunds--
		st := g.ruled(nd.Reign - 1)
		if g.Ghost.Fresh[a.A] > 0 {
			g.Ghost.Fresh[a.A]--
			g.Ghost.Allowed--
			if c.Mutant == ReceiptInOtherReign {
				g.Ghost.Used[a.A]++
			}
		} else {
			g.Ghost.Used[a.A]--
		}
		e := c.write(st, func(e *entry) { e.Back++ })
		c.note(g, st)
		if a.B == 0 {
			nd.Memory[a.Region][st.Reign].merge(e)
		}
	}
}

func (c *Config) returned(g *region, nd *node, a action) {
	le := &nd.Lease
	st := c.returnsTo(g, nd)
	seen := &le.Applied
	if st.Reign != le.Reign {
		seen = &le.AppliedNext
	}
	if *seen == 0 {
		*seen = 1
		c.write(st, func(e *entry) { e.Back += le.Units })
		c.note(g, st)
	}
	if a.A == 0 {
		nd.Memory[a.Region][st.Reign].merge(st.Row[st.Reign])
		*le = lease{}
	}
}

func (c *Config) stepReign(s *State, g *region, nd *node, a action) {
	st := &g.Stores[0]
	switch a.Kind {
	case actClaim:
		st.Marker, st.Valid = markClaim, 1
		g.unclaim(c)
		nd.Phase = phaseClaimed
	case actExchange:
		c.exchange(s, g, nd, a)
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

func (c *Config) stepNode(s *State, g *region, nd *node, a action) {
	own := &nd.Memory[a.Region]
	switch a.Kind {
	case actNews:
		from := g.Nodes[a.B].Memory[a.Region][a.A]
		switch a.C {
		case 1: // P and what was given, without N
			from.Back, from.BackVersion = 0, 0
		case 2: // N alone
			from = entry{Back: from.Back, BackVersion: from.BackVersion}
		}
		own[a.A].merge(from)
	case actHear:
		own[a.A].merge(g.Ghost.Outside[a.A])
	case actRead:
		s.Left.Reads--
		own.merge(&g.ruled(nd.Reign - 1).Row)
	case actSync:
		nd.Disk = *own
	case actCrash:
		s.Left.Crashes--
		if a.A == 1 {
			s.Left.Disks--
			nd.Disk = entries{}
		}
		for k := range own {
			if own[k].Version > nd.Disk[k].Version {
				g.Ghost.Lost[k].merge(own[k])
			}
		}
		*nd = node{Disk: nd.Disk, Pledge: nd.Pledge}
		if c.Mutant == PledgeBeforeDurable {
			nd.Pledge = ackNone
		}
	case actRestart:
		nd.Up = 1
		*own = nd.Disk
	}
}

func (c *Config) stepStore(s *State, g *region, a action) {
	st, other := &g.Stores[0], &g.Stores[1]
	switch a.Kind {
	case actDeduct:
		st.Unpaid = 0
	case actWipe:
		s.Left.Wipes--
		*st = store{Mode: copyServing}
		g.unclaim(c)
	case actCopy:
		*other = *st
		other.Mode, other.Valid = copyFrozen, 0
	case actFailover:
		s.Left.Failovers--
		*st, *other = *other, *st
		st.Mode, st.Valid = copyServing, 0
		if a.A == 1 {
			s.Left.Splits--
			g.Ghost.Forked += uint8(max(0, c.remaining(s, int(a.Region))))
		} else {
			other.Mode, other.Valid = copyFrozen, 0
		}
		g.unclaim(c)
	case actDemote:
		other.Mode, other.Valid = copyFrozen, 0
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

// settle publishes what may leave its region and drops what can matter no more,
// so that states that differ in nothing else are one.
func (c *Config) settle(s *State) {
	for r := range c.Regions {
		g := &s.Regions[r]
		for n := range c.nodes(r) {
			nd := &g.Nodes[n]
			c.publish(s, r, nd)
			if !c.mayCrash(s, r) && nd.Up == 1 {
				nd.Disk = entries{}
			}
			cl := &nd.Call
			if cl.Kind == callNone || c.Mutant == LateReplyBelieved || c.Mutant == ReplicaInTwoReigns || g.ruled(cl.Reign) != nil {
				continue
			}
			// Its reign is over: it will neither be applied nor cancelled.
			if cl.Lost == 1 || cl.Stage == callSent {
				*cl = call{}
			}
		}
		if s.Left.Failovers == 0 && g.Stores[1].Mode == copyFrozen {
			g.Stores[1] = store{}
		}
	}
}

// publish lets what the node knows of its region out of it, unless it holds gifts
// that the node has not fsynced.
func (c *Config) publish(s *State, r int, nd *node) {
	if nd.Up == 0 || c.Gossip {
		return
	}
	g := &s.Regions[r]
	for k := range nd.Memory[r] {
		e := nd.Memory[r][k]
		if e.Version <= g.Ghost.Outside[k].Version || !c.durable(s, r, nd, k, e) {
			continue
		}
		c.leave(s, r, k, e)
	}
}

func (c *Config) durable(s *State, r int, nd *node, k int, e entry) bool {
	if !c.mayCrash(s, r) || c.Mutant == GiftBeforeDurable {
		return true
	}
	for to, given := range e.Given {
		if given > nd.Disk[k].Given[to] {
			return false
		}
	}
	return true
}

// tellable says whether a node may tell a region-mate, outside of an exchange. A
// gift that a crash would forget must not come back in a late message, when the
// region has opened a reign without it.
func (c *Config) tellable(s *State, r int, nd *node, k int, e entry) bool {
	return c.Mutant == GiftToldBeforeDurable || c.durable(s, r, nd, k, e)
}

// leave is an entry leaving its region. What a region with two masters receives
// from it both of them may spend.
func (c *Config) leave(s *State, r, k int, e entry) {
	old := s.Regions[r].Ghost.Outside[k]
	s.Regions[r].Ghost.Outside[k].merge(e)
	for to := range c.Regions {
		if e.Given[to] > old.Given[to] && s.Regions[to].Stores[1].Mode == copyServing {
			s.Regions[to].Ghost.Forked += e.Given[to] - old.Given[to]
		}
	}
}
