package giving

import (
	"errors"
	"fmt"
	"time"

	"weir/crdt"
)

const (
	// DefaultReservePercent is the reserve in percent of a region's even part of
	// what is left.
	DefaultReservePercent = 20
	// DefaultMaxRows bounds the rows whose demand is remembered: about 400 bytes
	// each with three regions.
	DefaultMaxRows = 10_000

	// ahead is for how long a region's rights should last: below it others give.
	ahead = 5.0 // seconds
	// urgent is the time below which a gift of any size is made. Above it, small
	// ones wait and become one.
	urgent = 1.5 // seconds
	// swing is by how much longer the giver's rights must last, in seconds, times
	// the receiver's part of what both demand: less is noise of what was heard,
	// and costs the giver the more, the less it has for its own size.
	swing = 0.6
	// smallest is the part of what a region lacks to its time ahead that a gift
	// must be unless it is urgent, one in so many, over all givers.
	smallest = 5

	maxUnits = crdt.MaxUnits
)

// HalfSurplus gives half of what the own region has beyond a reserve to the
// region in greatest need, and what was refused there at once.
//
// In need is first who lately refused a cost that the regions in touch hold
// together, the one that lacks least before others: it gets what it lacks, from
// those with most to spare first, and half their surplus where its fair part is
// larger. A cost that all surplus does not cover is met out of the reserves.
// Then who has rights for less than 5 s of its demand: it gets half the surplus,
// or all up to that time, and never more than brings it to its fair part by
// demand. So gifts even things out from one side, and do not swing.
//
// The reserve is for traffic that may fail over from another region. It is a
// share of the even part of what is left, so it is gone when the quota is. A
// region not heard of for 2 s is given nothing, in want or not: what is sent
// behind a cut serves nobody, and a region that is in touch again says so at
// once, before its wants can matter.
type HalfSurplus struct {
	reservePercent int
	memories       memories
	field          field
}

// NewHalfSurplus returns the policy with a reserve of that many percent of a
// region's even part of what is left, which remembers the demand of up to
// maxRows rows. The error names what is out of range.
func NewHalfSurplus(reservePercent, maxRows int) (*HalfSurplus, error) {
	switch {
	case reservePercent < 0 || reservePercent > 100:
		return nil, fmt.Errorf("reserve: %d %%, must be 0 to 100", reservePercent)
	case maxRows < 1:
		return nil, errors.New("rows remembered: must be at least 1")
	}
	return &HalfSurplus{reservePercent: reservePercent, memories: newMemories(maxRows)}, nil
}

// Evicted is how many rows were forgotten because more were looked at than may
// be remembered.
func (p *HalfSurplus) Evicted() uint64 { return p.memories.evicted }

// Gift implements Policy.
func (p *HalfSurplus) Gift(now time.Duration, v *View) (Gift, bool) {
	m := p.memories.of(v.ID)
	m.observe(now, v)
	if v.Left <= 0 || v.Regions[v.Own].Rights <= 0 {
		return Gift{}, false
	}
	f := &p.field
	f.look(now, v, m, p.reservePercent)
	to, units, keep := f.relieve()
	if to < 0 {
		to, units, keep = f.provide()
	}
	if to < 0 || units <= 0 {
		return Gift{}, false
	}
	given := max(0, v.Regions[to].Given)
	target := min(given, maxUnits-units) + units
	return Gift{To: v.Regions[to].Name, Target: target, Keep: keep}, target > given
}

// relieve decides about the region in want that comes first, -1 if none does.
func (f *field) relieve() (to int, units, keep int64) {
	to = f.first()
	if to < 0 || to == f.own {
		return -1, 0, 0
	}
	own, short := &f.regions[f.own], f.regions[to].short()
	reserve := f.reserve
	before, spare := f.spareBefore(to, reserve)
	if spare < short {
		reserve = 0
		before, _ = f.spareBefore(to, reserve)
	}
	units = max(0, short-before)
	if own.want == 0 {
		units = max(units, f.bulk(to, own.spare(reserve)))
	}
	return to, min(units, own.spare(reserve)), max(own.hold(), reserve)
}

// first is the region in want that is served before others: that which lacks
// least, as it will be served soonest. A gift brings a region nearer its turn,
// so all givers come to agree. Wants for all that is left come last, in order of
// name, and the next only when the one before has it and does not say again that
// it is in want: by what they lack, the whole would swing between two of them.
func (f *field) first() int {
	best, last := -1, -1
	for i := range f.regions {
		s := &f.regions[i]
		switch {
		case s.want == 0 || s.means == outOfReach:
		case s.means == atMost:
			if last < 0 {
				last = i
			}
		case s.short() > 0 && (best < 0 || s.short() < f.regions[best].short()):
			best = i
		}
	}
	if best < 0 && last >= 0 && f.regions[last].short() > 0 {
		return last
	}
	return best
}

// provide decides about the region whose rights last shortest, -1 if all last
// long enough.
func (f *field) provide() (to int, units, keep int64) {
	to = -1
	own := &f.regions[f.own]
	if own.short() > 0 {
		return -1, 0, 0
	}
	least := ahead
	for i := range f.regions {
		s := &f.regions[i]
		if i != f.own && s.runway() < least && f.worth(s) {
			to, least = i, s.runway()
		}
	}
	if to < 0 {
		return -1, 0, 0
	}
	spare := own.spare(f.reserve)
	units = f.bulk(to, spare)
	if s := &f.regions[to]; s.want > 0 && s.rights <= 0 {
		units = max(units, min(1, spare)) // what is refused may be as small as that
	}
	if least > urgent && float64(units)*float64(smallest*len(f.regions)) < f.regions[to].lacks() {
		return -1, 0, 0
	}
	return to, units, max(own.hold(), f.reserve)
}

// bulk is half of what the own region has to spare, or all of it up to what
// another lacks, as far as that one's fair part goes. In units.
func (f *field) bulk(to int, spare int64) int64 {
	lacks := int64(f.regions[to].lacks())
	return min(max((spare+1)/2, min(spare, lacks)), int64(f.owed(to)))
}

// worth says whether a region may be given to ahead of need: it is in touch,
// known to demand anything, and its rights last shorter than the own ones.
func (f *field) worth(s *standing) bool {
	if !s.inTouch || s.perSecond <= idle && s.short() == 0 {
		return false
	}
	own := &f.regions[f.own]
	mine, its := max(own.perSecond, idle), max(s.perSecond, idle)
	return s.runway() < own.runway()-swing*its/(its+mine)
}
