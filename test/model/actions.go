package model

// An action is one step of the world. Region and Node act; A, B and C say how.
type action struct {
	Kind                  kind
	Region, Node, A, B, C uint8
}

type kind uint8

// What can happen.
const (
	actIssue    kind = iota // A: call kind, B: units or target, C: receiver of a gift
	actApply                // a call that was sent arrives
	actReply                // a reply is delivered and believed
	actLose                 // a reply is lost, or late
	actAbandon              // an unresolved call is left as charged
	actSettle               // an unresolved call is cancelled by id; A=1: that reply is lost too
	actAlone                // a check is allowed without the store, under `open`
	actSpend                // a unit of a lease is used
	actReturn               // a lease is no longer used
	actReturned             // its return arrives; A=1: the reply is lost
	actForget               // a return is given up
	actRefund               // A: the receipt's reign; B=1: the reply is lost
	actNews                 // the node hears its own entry A from region-mate B (C: which half)
	actHear                 // the node hears entry A of its region from outside
	actRead                 // the node reads its store's row
	actSync                 // the node writes its rows to disk
	actClaim                // the node claims the store
	actExchange             // A=1: the peer does not answer
	actAdopt                // the law-breaker's: no exchange
	actOpen                 // the claim becomes a nonce
	actDeduct               // the law-breaker's: a gift is deducted late
	actCrash                // A=1: the disk is lost too
	actRestart
	actWipe     // the store loses all
	actCopy     // a replica of the store is up to date at this instant
	actFailover // the copy takes over; A=1: the old one goes on
	actDemote   // the old one stops
	actSend     // an entry sets out: A region, B reign, C=1 to other regions
	actDeliver  // Node hears message A
	actDrop     // message A is dropped
	actDirect   // Node hears entry B of region A from node C (of all nodes) at once
	actPledge   // the node pledges itself to the next split, on disk
	actAckHear  // the node hears what node B of region A knows of acknowledgements
	actBegin
	actEnd
	actExpire // the store drops the row of an ended period
)

// successors calls try with every action that is possible in s.
func (c *Config) successors(s *State, try func(action)) {
	for r := range c.Regions {
		c.storeActions(s, uint8(r), try)
		for n := range c.nodes(r) {
			at := action{Region: uint8(r), Node: uint8(n)}
			if s.Regions[r].Nodes[n].Up == 0 {
				at.Kind = actRestart
				try(at)
				continue
			}
			c.callActions(s, at, try)
			c.leaseActions(s, at, try)
			c.reignActions(s, at, try)
			c.knowledgeActions(s, at, try)
			c.gossipActions(s, at, try)
			c.splitActions(s, at, try)
		}
	}
	c.worldActions(s, try)
}

// ruled is the copy of region r's store in which the reign lives, or nil.
func (g *region) ruled(reign uint8) *store {
	for i := range g.Stores {
		if g.Stores[i].rules(reign) {
			return &g.Stores[i]
		}
	}
	return nil
}

func (c *Config) callActions(s *State, at action, try func(action)) {
	g := &s.Regions[at.Region]
	nd := &g.Nodes[at.Node]
	cl := &nd.Call
	with := func(k kind, abc ...uint8) {
		a := at
		a.Kind = k
		for i, v := range abc {
			*[]*uint8{&a.A, &a.B, &a.C}[i] = v
		}
		try(a)
	}
	switch {
	case cl.Kind == callNone:
		if nd.Reign == 0 || g.ruled(nd.Reign-1) == nil || c.NextSplit != nil && s.Begun&(1<<at.Region) == 0 {
			return
		}
		if s.Left.Decides > 0 {
			with(actIssue, callDecide, 1)
		}
		if s.Left.Leases > 0 && nd.Lease.Stage == leaseNone {
			with(actIssue, callLease, 2)
		}
		if s.Left.Gives > 0 {
			for to := range c.Regions {
				if to == int(at.Region) {
					continue
				}
				given := nd.Memory[at.Region][nd.Reign-1].Given[to]
				with(actIssue, callGive, given+1, uint8(to))
				with(actIssue, callGive, given+2, uint8(to))
			}
		}
	case cl.Stage == callSent && cl.Cancelled == 0:
		with(actApply)
	case cl.Stage == callApplied && (cl.Lost == 0 || c.Mutant == LateReplyBelieved):
		with(actReply)
	}
	if cl.Kind != callNone && cl.Lost == 0 && s.Left.Losses > 0 {
		with(actLose)
	}
	if s.Left.Opens > 0 && (nd.Alone != 0 || int(g.Reigns) < c.Reigns) {
		with(actAlone)
	}
	if cl.Lost == 1 {
		with(actAbandon)
		if cl.Kind != callGive && cl.Cancelled == 0 && g.ruled(cl.Reign) != nil && nd.Reign == cl.Reign+1 {
			with(actSettle, 0)
			with(actSettle, 1)
		}
	}
}

func (c *Config) leaseActions(s *State, at action, try func(action)) {
	g := &s.Regions[at.Region]
	nd := &g.Nodes[at.Node]
	le := &nd.Lease
	with := func(k kind, a, b uint8) { at.Kind, at.A, at.B = k, a, b; try(at) }
	switch le.Stage {
	case leaseHeld:
		with(actSpend, 0, 0)
		with(actReturn, 0, 0)
	case leaseReturning:
		with(actForget, 0, 0)
		if c.returnsTo(g, nd) != nil {
			with(actReturned, 0, 0)
			with(actReturned, 1, 0)
		}
	}
	if s.Left.Refunds == 0 || nd.Reign == 0 || g.ruled(nd.Reign-1) == nil {
		return
	}
	for k := range g.Ghost.Fresh {
		fresh, used := g.Ghost.Fresh[k] > 0, g.Ghost.Used[k] > 0
		if fresh && (k == int(nd.Reign-1) || c.Mutant == ReceiptInOtherReign) ||
			used && k != int(nd.Reign-1) && c.Mutant == ReceiptInOtherReign {
			with(actRefund, uint8(k), 0)
			with(actRefund, uint8(k), 1)
		}
	}
}

// returnsTo is the store that would take the return of the node's lease.
func (c *Config) returnsTo(g *region, nd *node) *store {
	if c.Mutant == LeaseInNextReign && nd.Reign != 0 {
		return g.ruled(nd.Reign - 1)
	}
	if nd.Reign != nd.Lease.Reign+1 {
		return nil
	}
	return g.ruled(nd.Lease.Reign)
}

func (c *Config) reignActions(s *State, at action, try func(action)) {
	g := &s.Regions[at.Region]
	nd := &g.Nodes[at.Node]
	st := &g.Stores[0]
	with := func(k kind, a uint8) { at.Kind, at.A = k, a; try(at) }
	exchange := func() {
		with(actExchange, 0)
		if s.Left.Silent > 0 && c.mayFault(int(at.Region)) && c.nodes(int(at.Region)) > 1 && g.Nodes[1-at.Node].Up == 1 {
			with(actExchange, 1)
		}
	}
	ruling := st.Marker == markNonce && st.Valid == 1
	switch {
	case c.Mutant == ClaimSkipped && !ruling:
		if nd.Phase == phaseNone {
			exchange()
		}
	case !ruling && nd.Phase == phaseNone && int(g.Reigns) < c.Reigns:
		with(actClaim, 0)
	case nd.Phase == phaseClaimed:
		exchange()
	}
	claimed := st.Marker == markClaim && st.Valid == 1 || c.Mutant == ClaimSkipped
	if nd.Phase == phaseExchanged && !ruling && claimed && int(g.Reigns) < c.Reigns {
		with(actOpen, 0)
	}
	for i := range g.Stores {
		o := &g.Stores[i]
		if o.rules(o.Reign) && nd.Reign != o.Reign+1 && nd.Phase != phaseClaimed {
			if c.Mutant == AdoptedUnexchanged {
				with(actAdopt, uint8(i))
				continue
			}
			at.B = uint8(i)
			exchange()
			at.B = 0
		}
	}
}

func (c *Config) knowledgeActions(s *State, at action, try func(action)) {
	g := &s.Regions[at.Region]
	nd := &g.Nodes[at.Node]
	with := func(k kind, a, b, half uint8) { at.Kind, at.A, at.B, at.C = k, a, b, half; try(at) }
	own := &nd.Memory[at.Region]
	for k := range c.Reigns {
		for o := range c.nodes(int(at.Region)) {
			from := g.Nodes[o].Memory[at.Region][k]
			if o == int(at.Node) || !c.tellable(s, int(at.Region), &g.Nodes[o], k, from) {
				continue
			}
			if c.Mutant == SeparateDeltas {
				if from.Version > own[k].Version {
					with(actNews, uint8(k), uint8(o), 1)
				}
				if from.BackVersion > own[k].BackVersion {
					with(actNews, uint8(k), uint8(o), 2)
				}
			} else if from.Version > own[k].Version {
				with(actNews, uint8(k), uint8(o), 0)
			}
		}
		if !c.Gossip && g.Ghost.Outside[k].Version > own[k].Version {
			with(actHear, uint8(k), 0, 0)
		}
	}
	if s.Left.Reads > 0 && nd.Reign != 0 {
		if st := g.ruled(nd.Reign - 1); st != nil {
			with(actRead, 0, 0, 0)
		}
	}
	if c.mayCrash(s, int(at.Region)) {
		if nd.Disk != *own {
			with(actSync, 0, 0, 0)
		}
		with(actCrash, 0, 0, 0)
		if s.Left.Disks > 0 {
			with(actCrash, 1, 0, 0)
		}
	}
}

func (c *Config) storeActions(s *State, r uint8, try func(action)) {
	g := &s.Regions[r]
	with := func(k kind, a uint8) { try(action{Kind: k, Region: r, A: a}) }
	st, other := &g.Stores[0], &g.Stores[1]
	if st.Unpaid > 0 {
		with(actDeduct, 0)
	}
	if !c.mayFault(int(r)) {
		return
	}
	if s.Left.Wipes > 0 && int(g.Reigns) < c.Reigns {
		with(actWipe, 0)
	}
	if other.Mode == copyServing {
		with(actDemote, 0)
		return
	}
	if s.Left.Failovers == 0 || int(g.Reigns) >= c.Reigns {
		return
	}
	with(actCopy, 0)
	if other.Mode == copyFrozen {
		with(actFailover, 0)
		if s.Left.Splits > 0 && st.rules(st.Reign) {
			with(actFailover, 1)
		}
	}
}
