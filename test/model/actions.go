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
	actAnswer               // the node answers the exchange of an opening
	actExchange             // the exchange ends; A=1: who has not answered is given up; B: the copy
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
			a := action{Region: uint8(r), Node: uint8(n)}
			if s.Regions[r].Nodes[n].Up == 0 {
				a.Kind = actRestart
				try(a)
				continue
			}
			c.callActions(s, a, try)
			c.leaseActions(s, a, try)
			c.reignActions(s, a, try)
			c.knowledgeActions(s, a, try)
			c.gossipActions(s, a, try)
			c.splitActions(s, a, try)
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

// at returns try for actions of one node, with A, B and C given as far as needed.
func at(a action, try func(action)) func(k kind, abc ...uint8) {
	return func(k kind, abc ...uint8) {
		a.Kind, a.A, a.B, a.C = k, 0, 0, 0
		for i, to := range [...]*uint8{&a.A, &a.B, &a.C} {
			if i < len(abc) {
				*to = abc[i]
			}
		}
		try(a)
	}
}

func (c *Config) callActions(s *State, a action, try func(action)) {
	g := &s.Regions[a.Region]
	nd := &g.Nodes[a.Node]
	cl := &nd.Call
	with := at(a, try)
	switch cl.Stage {
	case 0:
		c.newCalls(s, a, with)
	case callSent:
		with(actApply)
	case callApplied:
		if cl.Lost == 0 || c.Mutant == LateReplyBelieved {
			with(actReply)
		}
	}
	if s.Left.Opens > 0 && (nd.Alone != 0 || int(g.Reigns) < c.Reigns) {
		with(actAlone)
	}
	if cl.Kind != callNone && cl.Lost == 0 && s.Left.Losses > 0 {
		with(actLose)
	}
	if cl.Lost == 1 {
		c.unresolvedActions(g, nd, with)
	}
}

// unresolvedActions are how a call ends whose reply is lost.
func (c *Config) unresolvedActions(g *region, nd *node, with func(kind, ...uint8)) {
	cl := &nd.Call
	with(actAbandon)
	if cl.Kind != callGive && cl.Cancelled == 0 && c.settlesWith(g, nd) != nil {
		with(actSettle, 0)
		with(actSettle, 1)
	}
}

// settlesWith is the store that would cancel the node's call.
func (c *Config) settlesWith(g *region, nd *node) *store {
	if nd.Reign == 0 || nd.Reign != nd.Call.Reign+1 && c.Mutant != CancelInNextReign {
		return nil
	}
	return g.ruled(nd.Reign - 1)
}

func (c *Config) newCalls(s *State, a action, with func(kind, ...uint8)) {
	g := &s.Regions[a.Region]
	nd := &g.Nodes[a.Node]
	begun := c.NextSplit == nil || s.Begun&(1<<a.Region) != 0
	if nd.Reign == 0 || g.ruled(nd.Reign-1) == nil || !begun {
		return
	}
	if s.Left.Decides > 0 {
		with(actIssue, callDecide, 1)
	}
	if s.Left.Leases > 0 && nd.Lease.Stage == leaseNone {
		with(actIssue, callLease, 2)
	}
	for to := range c.Regions {
		if s.Left.Gives == 0 || to == int(a.Region) {
			continue
		}
		given := nd.Memory[a.Region][nd.Reign-1].Given[to]
		with(actIssue, callGive, given+1, uint8(to))
		with(actIssue, callGive, given+2, uint8(to))
	}
}

// knowledgeActions are what a node hears of its own region, and its disk.
func (c *Config) knowledgeActions(s *State, a action, try func(action)) {
	g := &s.Regions[a.Region]
	nd := &g.Nodes[a.Node]
	with := at(a, try)
	own := &nd.Memory[a.Region]
	for k := range c.Reigns {
		for o := range c.nodes(int(a.Region)) {
			from := g.Nodes[o].Memory[a.Region][k]
			if o != int(a.Node) && c.tellable(s, int(a.Region), &g.Nodes[o], k, from) {
				c.news(from, own[k], func(half uint8) { with(actNews, uint8(k), uint8(o), half) })
			}
		}
		if !c.Gossip && g.Ghost.Outside[k].Version > own[k].Version {
			with(actHear, uint8(k))
		}
	}
	if s.Left.Reads > 0 && nd.Reign != 0 && g.ruled(nd.Reign-1) != nil {
		with(actRead)
	}
	if c.mayCrash(s, int(a.Region)) {
		if nd.Disk != *own {
			with(actSync)
		}
		with(actCrash, 0)
		if s.Left.Disks > 0 {
			with(actCrash, 1)
		}
	}
}

// news offers what of an entry is new: all of it, or for the law-breaker its
// halves.
func (c *Config) news(from, mine entry, offer func(half uint8)) {
	if c.Mutant != SeparateDeltas {
		if from.Version > mine.Version {
			offer(0)
		}
		return
	}
	if from.Version > mine.Version {
		offer(1)
	}
	if from.BackVersion > mine.BackVersion {
		offer(2)
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
