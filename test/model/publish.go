package model

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
