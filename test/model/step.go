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
	case actClaim, actAnswer, actExchange, actAdopt, actOpen:
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
		st := c.settlesWith(g, nd)
		e := c.write(st, func(e *entry) { e.Back += cl.Units })
		c.note(g, st)
		if a.A == 0 {
			nd.Memory[a.Region][st.Reign].merge(e)
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
			if own[k].Version > max(nd.Disk[k].Version, g.mates(nd, int(a.Region), k)) {
				g.Ghost.Lost[k].merge(own[k])
			}
		}
		if nd.Answered == 0 && c.Mutant != NotAskedAgain {
			// It may have told one that had answered before: they are asked again.
			g.unanswer()
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

// mates is the newest version of a replica that the node's live region-mates know:
// what it told one of them is not forgotten with it.
func (g *region) mates(nd *node, r, k int) uint8 {
	newest := uint8(0)
	for n := range g.Nodes {
		if o := &g.Nodes[n]; o != nd && o.Up == 1 {
			newest = max(newest, o.Memory[r][k].Version)
		}
	}
	return newest
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
			if cl.Kind == callNone || c.outlives() || g.ruled(cl.Reign) != nil {
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

// outlives says whether a law-breaker's calls mean something after their reign.
func (c *Config) outlives() bool {
	return c.Mutant == LateReplyBelieved || c.Mutant == ReplicaInTwoReigns || c.Mutant == CancelInNextReign
}
