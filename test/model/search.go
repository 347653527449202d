package model

// Result is what a search found.
type Result struct {
	States int
	Depth  int    // of the last level that was explored
	Whole  bool   // every reachable state was seen within the bounds
	Law    string // the law that was broken, or nothing
	Trace  []string
}

// start is the world before anything happened: every region's store is empty.
func (c *Config) start() State {
	var s State
	for r := range c.Regions {
		g := &s.Regions[r]
		g.Stores[0].Mode = copyServing
		for n := range c.nodes(r) {
			g.Nodes[n].Up = 1
		}
	}
	s.Left = c.Budget
	if !c.Cold {
		for r := range c.Regions {
			g := &s.Regions[r]
			g.Stores[0].Marker, g.Stores[0].Valid = markNonce, 1
			g.Reigns = 1
			for n := range c.nodes(r) {
				g.Nodes[n].Reign = 1
			}
		}
	}
	return s
}

// seen is a set of fingerprints: open addressing, linear probing.
type seen struct {
	slots []fingerprint
	count int
}

func newSeen() *seen { return &seen{slots: make([]fingerprint, 1<<12)} }

// add says whether f is new.
func (s *seen) add(f fingerprint) bool {
	if f == (fingerprint{}) {
		f.lo = 1
	}
	if s.count*3 >= len(s.slots)*2 {
		s.grow()
	}
	mask := uint64(len(s.slots) - 1)
	for i := f.lo & mask; ; i = (i + 1) & mask {
		switch s.slots[i] {
		case f:
			return false
		case fingerprint{}:
			s.slots[i] = f
			s.count++
			return true
		}
	}
}

func (s *seen) grow() {
	old := s.slots
	s.slots = make([]fingerprint, 2*len(old))
	mask := uint64(len(s.slots) - 1)
	for _, f := range old {
		if f == (fingerprint{}) {
			continue
		}
		i := f.lo & mask
		for s.slots[i] != (fingerprint{}) {
			i = (i + 1) & mask
		}
		s.slots[i] = f
	}
}

// came is how a state was reached first.
type came struct {
	from uint32
	by   action
}

// level is a breadth-first frontier: packed states, one after the other.
type level struct {
	packed []byte
	ends   []int
	ids    []uint32
}

func (l *level) add(packed []byte, id uint32) {
	l.packed = append(l.packed, packed...)
	l.ends = append(l.ends, len(l.packed))
	l.ids = append(l.ids, id)
}

func (l *level) reset() { l.packed, l.ends, l.ids = l.packed[:0], l.ends[:0], l.ids[:0] }

// Search explores breadth first, so that the first law found broken is broken by
// a shortest path. It stops at depth steps or states states; 0 is no bound.
func Search(c Config, depth, states int) Result {
	found := newSeen()
	var this, next level
	var paths []came
	first := c.start()
	canonical(&first, &c)
	buffer := pack(nil, &first)
	found.add(hash(&first))
	this.add(buffer, 0)
	paths = append(paths, came{})
	result := Result{}
	for ; len(this.ids) > 0; result.Depth++ {
		if depth > 0 && result.Depth >= depth {
			return result.of(found, paths)
		}
		begin := 0
		for i, end := range this.ends {
			var s State
			unpack(this.packed[begin:end], &s)
			begin = end
			id := this.ids[i]
			c.successors(&s, func(a action) {
				t := s
				c.step(&t, a)
				canonical(&t, &c)
				if result.Law != "" || !found.add(hash(&t)) {
					return
				}
				buffer = pack(buffer[:0], &t)
				paths = append(paths, came{from: id, by: a})
				next.add(buffer, uint32(len(paths)-1))
				result.Law = c.check(&t)
			})
			if result.Law != "" {
				result.Depth++
				result = result.of(found, paths)
				result.Trace = c.trace(paths)
				return result
			}
			if states > 0 && found.count >= states {
				return result.of(found, paths)
			}
		}
		this, next = next, this
		next.reset()
	}
	result.Whole = true
	return result.of(found, paths)
}

func (r Result) of(found *seen, _ []came) Result {
	r.States = found.count
	return r
}
