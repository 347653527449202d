package model

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

func (c *Config) leaseActions(s *State, a action, try func(action)) {
	g := &s.Regions[a.Region]
	nd := &g.Nodes[a.Node]
	with := at(a, try)
	switch nd.Lease.Stage {
	case leaseHeld:
		with(actSpend)
		with(actReturn)
	case leaseReturning:
		with(actForget)
		if c.returnsTo(g, nd) != nil {
			with(actReturned, 0)
			with(actReturned, 1)
		}
	}
	if s.Left.Refunds == 0 || nd.Reign == 0 || g.ruled(nd.Reign-1) == nil {
		return
	}
	for k := range g.Ghost.Fresh {
		if c.refundable(g, k, int(nd.Reign-1)) {
			with(actRefund, uint8(k), 0)
			with(actRefund, uint8(k), 1)
		}
	}
}

// refundable says whether a receipt of a reign does anything in the present one.
func (c *Config) refundable(g *region, reign, present int) bool {
	if reign == present {
		return g.Ghost.Fresh[reign] > 0
	}
	return c.Mutant == ReceiptInOtherReign && g.Ghost.Fresh[reign]+g.Ghost.Used[reign] > 0
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
