package model

import (
	"bytes"
	"slices"
)

// gossipActions are what nodes tell each other beyond their region, entry by
// entry; with Config.Gossip.
func (c *Config) gossipActions(s *State, a action, try func(action)) {
	if !c.Gossip {
		return
	}
	nd := &s.Regions[a.Region].Nodes[a.Node]
	with := at(a, try)
	for q := range c.Regions {
		for k := range c.Reigns {
			c.directFrom(s, a, q, k, with)
			c.sends(s, a, q, k, with)
		}
	}
	for i := range s.Messages {
		m := &s.Messages[i]
		if m.Set == 1 && (m.Outside == 1 || m.Region == a.Region) && m.Entry.Version > nd.Memory[m.Region][m.Reign].Version {
			with(actDeliver, uint8(i))
		}
	}
}

// sends are an entry setting out.
func (c *Config) sends(s *State, a action, q, k int, with func(kind, ...uint8)) {
	nd := &s.Regions[a.Region].Nodes[a.Node]
	mine := nd.Memory[q][k]
	if mine.Version == 0 || s.Left.Gossip == 0 || s.freeSlot(c, q, k, mine.Version) < 0 {
		return
	}
	switch {
	case q != int(a.Region) || c.durable(s, q, nd, k, mine):
		with(actSend, uint8(q), uint8(k), 1)
	case c.nodes(q) > 1 && c.tellable(s, q, nd, k, mine):
		with(actSend, uint8(q), uint8(k), 0)
	}
}

// directFrom offers each version of a replica that some other node may tell this
// one now, once. Nodes tell each other of their own region by actNews.
func (c *Config) directFrom(s *State, a action, q, k int, with func(kind, ...uint8)) {
	known := s.Regions[a.Region].Nodes[a.Node].Memory[q][k].Version
	var offered [maxRegions * maxNodes]uint8
	for o := range c.Regions * c.Nodes {
		from := o / c.Nodes
		nd := &s.Regions[from].Nodes[o%c.Nodes]
		e := nd.Memory[q][k]
		if nd.Up == 0 || e.Version <= known || from == int(a.Region) && q == from ||
			from == q && !c.durable(s, q, nd, k, e) || slices.Contains(offered[:o], e.Version) {
			continue
		}
		offered[o] = e.Version
		with(actDirect, uint8(q), uint8(k), uint8(o))
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
