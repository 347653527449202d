package model

// What is pledged or acknowledged of the next split: the instant that was named
// lies before the period, or after its beginning.
const (
	ackNone = iota
	ackBefore
	ackAfter
)

// share is what region r may start from, as a caller names it. Each node pledges
// itself, and a region's acknowledgement is the latest of its nodes' pledges. An
// acknowledgement that one node gives for all can be forgotten with that node and
// the store, after others have built on it.
func (c *Config) share(r int, cl *call) int {
	old := c.even(r)
	if c.NextSplit == nil || cl.Pledge == ackNone {
		return old
	}
	next := c.NextSplit[r]
	if c.Mutant == LocalSplit {
		return next
	}
	latest := uint8(ackBefore)
	for o := range c.Regions {
		if cl.Acks[o] == ackNone {
			if c.Mutant == LargerShareInDoubt {
				return max(old, next)
			}
			return min(old, next)
		}
		latest = max(latest, cl.Acks[o])
	}
	if latest == ackAfter {
		return old
	}
	return next
}

// splitActions are the pledges to the next split, and the gossip about them.
func (c *Config) splitActions(s *State, at action, try func(action)) {
	if c.NextSplit == nil {
		return
	}
	nd := &s.Regions[at.Region].Nodes[at.Node]
	asked := c.Mutant != AckByOneNode || nd.Reign != 0 && s.Regions[at.Region].ruled(nd.Reign-1) != nil
	if nd.Pledge == ackNone && asked {
		at.Kind = actPledge
		try(at)
	}
	for r := range c.Regions {
		for n := range c.nodes(r) {
			if s.Regions[r].Nodes[n].Up == 1 && c.ackNews(s, nd, r, n) != nd.Acks {
				at.Kind, at.A, at.B = actAckHear, uint8(r), uint8(n)
				try(at)
			}
		}
	}
}

// ackNews is what nd knows of acknowledgements after hearing from node n of
// region r, which may be itself.
func (c *Config) ackNews(s *State, nd *node, r, n int) [maxRegions]uint8 {
	acks, from := nd.Acks, &s.Regions[r].Nodes[n]
	for q := range acks {
		acks[q] = max(acks[q], from.Acks[q])
	}
	ack := from.Pledge
	for m := range c.nodes(r) {
		if c.Mutant == AckByOneNode {
			break
		}
		pledge := s.Regions[r].Nodes[m].Pledge
		if pledge == ackNone {
			return acks
		}
		ack = max(ack, pledge)
	}
	acks[r] = max(acks[r], ack)
	return acks
}

func (c *Config) stepSplit(s *State, g *region, nd *node, a action) {
	switch a.Kind {
	case actPledge:
		nd.Pledge = ackBefore
		if s.Begun&(1<<a.Region) != 0 {
			nd.Pledge = ackAfter
		}
		if c.Mutant == AckByOneNode {
			c.nameSplit(g.ruled(nd.Reign-1), nd, &nd.Call)
			nd.Call.Pledge = ackNone
		}
	case actAckHear:
		nd.Acks = c.ackNews(s, nd, int(a.A), int(a.B))
	case actBegin:
		s.Begun |= 1 << a.Region
	}
}

// nameSplit puts what the caller knows of the split into its call. The
// law-breaker keeps one acknowledgement for the region in the store instead of one
// of each node.
func (c *Config) nameSplit(st *store, nd *node, cl *call) {
	if c.Mutant == AckByOneNode {
		if st.Split == ackNone {
			st.Split = nd.Pledge
		}
		nd.Pledge = st.Split
		cl.Pledge = st.Split
	}
}
