package model

import (
	"bytes"
	"slices"
)

// gossipActions are what nodes tell each other beyond their region, entry by
// entry; with Config.Gossip.
func (c *Config) gossipActions(s *State, at action, try func(action)) {
	if !c.Gossip {
		return
	}
	nd := &s.Regions[at.Region].Nodes[at.Node]
	for q := range c.Regions {
		for k := range c.Reigns {
			mine := nd.Memory[q][k]
			c.directFrom(s, at, q, k, mine.Version, try)
			if mine.Version == 0 || s.Left.Gossip == 0 {
				continue
			}
			if slot := s.freeSlot(c, q, k, mine.Version); slot >= 0 {
				at.Kind, at.A, at.B, at.C = actSend, uint8(q), uint8(k), 1
				if q == int(at.Region) && !c.durable(s, q, nd, k, mine) {
					at.C = 0
				}
				if at.C == 1 || c.nodes(q) > 1 && c.tellable(s, q, nd, k, mine) {
					try(at)
				}
			}
		}
	}
	for i := range s.Messages {
		m := &s.Messages[i]
		if m.Set == 1 && (m.Outside == 1 || m.Region == at.Region) && m.Entry.Version > nd.Memory[m.Region][m.Reign].Version {
			at.Kind, at.A, at.B, at.C = actDeliver, uint8(i), 0, 0
			try(at)
		}
	}
}

// directFrom offers each version of a replica that some other node may tell at
// now has, once. Nodes of one region tell each other by actNews.
func (c *Config) directFrom(s *State, at action, q, k int, version uint8, try func(action)) {
	var offered [maxRegions * maxNodes]uint8
	for o := range c.Regions * c.Nodes {
		from, n := o/c.Nodes, o%c.Nodes
		nd := &s.Regions[from].Nodes[n]
		e := nd.Memory[q][k]
		if nd.Up == 0 || e.Version <= version || from == int(at.Region) && q == from ||
			from == int(at.Region) && n == int(at.Node) || from == q && !c.durable(s, q, nd, k, e) ||
			slices.Contains(offered[:o], e.Version) {
			continue
		}
		offered[o] = e.Version
		at.Kind, at.A, at.B, at.C = actDirect, uint8(q), uint8(k), uint8(o)
		try(at)
	}
}

// freeSlot finds room for a message that is not on its way already.
func (s *State) freeSlot(c *Config, q, k int, version uint8) int {
	free := -1
	for i := range c.Delayed {
		m := &s.Messages[i]
		if m.Set == 0 {
			free = i
		} else if int(m.Region) == q && int(m.Reign) == k && m.Entry.Version == version {
			return -1
		}
	}
	return free
}

func (c *Config) stepGossip(s *State, nd *node, a action) {
	switch a.Kind {
	case actDirect:
		from := int(a.C) / c.Nodes
		e := s.Regions[from].Nodes[int(a.C)%c.Nodes].Memory[a.A][a.B]
		if from == int(a.A) {
			c.leave(s, from, int(a.B), e)
		}
		nd.Memory[a.A][a.B].merge(e)
	case actSend:
		e := nd.Memory[a.A][a.B]
		s.Left.Gossip--
		s.Messages[s.freeSlot(c, int(a.A), int(a.B), e.Version)] = message{Set: 1, Region: a.A, Reign: a.B, Outside: a.C, Entry: e}
		if a.C == 1 {
			c.leave(s, int(a.A), int(a.B), e)
		}
	case actDeliver:
		m := s.Messages[a.A]
		nd.Memory[m.Region][m.Reign].merge(m.Entry)
	case actDrop:
		s.Messages[a.A] = message{}
	}
	// Which slot a message is in means nothing.
	slices.SortFunc(s.Messages[:], func(x, y message) int { return bytes.Compare(messageView(&x), messageView(&y)) })
}

// worldActions are those that no node takes part in.
func (c *Config) worldActions(s *State, try func(action)) {
	for i := range s.Messages {
		if s.Messages[i].Set == 1 {
			try(action{Kind: actDrop, A: uint8(i)})
		}
	}
	if c.Period && s.Ended == 0 {
		try(action{Kind: actEnd})
	}
	for r := range c.Regions {
		if c.NextSplit != nil && s.Begun&(1<<r) == 0 {
			try(action{Kind: actBegin, Region: uint8(r)})
		}
		if s.Ended != 0 && s.Ended&(1<<r) == 0 {
			try(action{Kind: actExpire, Region: uint8(r)})
		}
	}
}

func (c *Config) stepPeriod(s *State, g *region, a action) {
	if a.Kind == actEnd {
		s.Ended = endedAll
		return
	}
	s.Ended |= 1 << a.Region
	for i := range g.Stores {
		g.Stores[i].Row, g.Stores[i].Floor = entries{}, 0
	}
	for n := range g.Nodes {
		g.Nodes[n].Memory, g.Nodes[n].Disk = [maxRegions]entries{}, entries{}
	}
	_ = c
}
