package giving

import (
	"time"

	"weir/crdt"
)

const (
	// wantTime is how long a want counts after its entry last changed. Who is in
	// want says so again within a second; the rest is for what is lost or late.
	wantTime = 2500 * time.Millisecond
	// maxWants bounds the wants remembered of one row. Past it the one that
	// changed longest ago goes, and counts as new when it is seen again.
	maxWants = 16
)

// memory is what was seen of one row over time.
type memory struct {
	id           crdt.RowID
	newer, older *memory       // in order of use
	since, at    time.Duration // first and last observation of demand
	demand       []demand      // in the order of the view's regions
	wants        []seenWant
}

// seenWant is a want as it was last seen, and when its entry was last seen to
// change.
type seenWant struct {
	region         string
	nonce, version uint64
	units          int64
	taken, moved   int64
	said           time.Duration // when the want itself was said
	active         time.Duration // when it was said, or its replica took units meanwhile
}

// update takes in the entry's next version. The replica may have said its want
// with a unit that it took: that is not known, and counts as active only. What
// it gave says nothing.
func (s *seenWant) update(now time.Duration, w *Want) {
	switch {
	case w.Version == s.version:
		return
	case w.Units != s.units || w.Taken == s.taken && w.Moved == s.moved:
		s.said, s.active = now, now
	case w.Taken != s.taken:
		s.active = now
	}
	s.version, s.units, s.taken, s.moved = w.Version, w.Units, w.Taken, w.Moved
}

// observe takes in a view at an instant.
func (m *memory) observe(now time.Duration, v *View) {
	if !m.covers(v) {
		m.begin(now, v)
	}
	if dt := now - m.at; dt >= demandStep {
		step := stepOf(dt, m.at-m.since)
		for i := range m.demand {
			m.demand[i].observe(v.Regions[i].Taken, step)
		}
		m.at = now
	}
	for i := range v.Wants {
		m.see(now, v.Regions[v.Wants[i].Region].Name, &v.Wants[i])
	}
}

// covers says whether the memory is of the regions that the view has.
func (m *memory) covers(v *View) bool {
	if len(m.demand) != len(v.Regions) {
		return false
	}
	for i := range m.demand {
		if m.demand[i].region != v.Regions[i].Name {
			return false
		}
	}
	return true
}

// begin starts averages anew: the row is new here, or regions came or went.
func (m *memory) begin(now time.Duration, v *View) {
	m.since, m.at, m.demand = now, now, m.demand[:0]
	for i := range v.Regions {
		m.demand = append(m.demand, demand{region: v.Regions[i].Name, taken: v.Regions[i].Taken})
	}
}

func (m *memory) see(now time.Duration, region string, w *Want) {
	oldest := -1
	for i := range m.wants {
		s := &m.wants[i]
		if s.nonce == w.Nonce && s.region == region {
			s.update(now, w)
			return
		}
		if oldest < 0 || s.active < m.wants[oldest].active {
			oldest = i
		}
	}
	s := seenWant{region: region, nonce: w.Nonce, version: w.Version, units: w.Units, taken: w.Taken, moved: w.Moved, said: now, active: now}
	if len(m.wants) < maxWants {
		m.wants = append(m.wants, s)
	} else {
		m.wants[oldest] = s
	}
}

// goesOn says whether a want of the view, which was observed, goes on, and
// whether it was said lately.
func (m *memory) goesOn(now time.Duration, v *View, w *Want) (active, said bool) {
	for i := range m.wants {
		if s := &m.wants[i]; s.nonce == w.Nonce && s.region == v.Regions[w.Region].Name {
			return now-s.active < wantTime, now-s.said < wantTime
		}
	}
	return false, false
}

// memories are those of the rows used last, at most a number of them.
type memories struct {
	most           int
	rows           map[crdt.RowID]*memory
	newest, oldest *memory
	evicted        uint64
}

func newMemories(most int) memories {
	return memories{most: most, rows: make(map[crdt.RowID]*memory)}
}

// of returns the memory of a row, which is the row used last then. Past the
// bound the one used longest ago is forgotten.
func (ms *memories) of(id crdt.RowID) *memory {
	if m := ms.newest; m != nil && m.id == id {
		return m
	}
	m, known := ms.rows[id]
	switch {
	case known:
		ms.unlink(m)
	case len(ms.rows) >= ms.most:
		m = ms.oldest
		ms.unlink(m)
		delete(ms.rows, m.id)
		ms.evicted++
		*m = memory{id: id, demand: m.demand[:0], wants: m.wants[:0]}
		ms.rows[id] = m
	default:
		m = &memory{id: id}
		ms.rows[id] = m
	}
	ms.link(m)
	return m
}

func (ms *memories) unlink(m *memory) {
	if m.newer != nil {
		m.newer.older = m.older
	} else {
		ms.newest = m.older
	}
	if m.older != nil {
		m.older.newer = m.newer
	} else {
		ms.oldest = m.newer
	}
	m.newer, m.older = nil, nil
}

func (ms *memories) link(m *memory) {
	m.older = ms.newest
	if m.older != nil {
		m.older.newer = m
	} else {
		ms.oldest = m
	}
	ms.newest = m
}
