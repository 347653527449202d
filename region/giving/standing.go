package giving

import "time"

const (
	// inTouch is the age from which nothing is given to a region: the gift could
	// be stranded behind a cut.
	inTouch = 2 * time.Second
	// underway is about how long a message takes between regions. News is older
	// than its region's age by that, and a gift arrives after it.
	underway = 200 * time.Millisecond
	// idle is what every region is taken to demand at least, in units a second,
	// so that regions without demand part evenly.
	idle = 0.2
)

// standing is how one region stands, seen from the one that gives.
type standing struct {
	inTouch   bool
	rights    int64   // units
	ahead     float64 // what its rights will be when a gift made now arrives, in units
	perSecond float64 // its demand, in units
	want      int64   // the cost that it refused lately, in units; 0 is none
	means     meaning // of want
	fair      float64 // its part of all rights by demand, in units
}

// meaning is what is known of a want. A region tells the largest cost it
// refused, and that it still refuses something: not that it is that.
type meaning uint8

const (
	// exact: the cost can be had from the regions in touch.
	exact meaning = iota
	// atMost: the cost told is more than is left, so what is refused now is less.
	// The want is taken to be all that is left.
	atMost
	// outOfReach: the cost can only be had with rights behind a cut, or with such
	// as others need as much. Something smaller may be wanted as well.
	outOfReach
)

// short is how much a region in want lacks, in units.
func (s *standing) short() int64 { return max(0, s.want-s.rights) }

// hold is what a region keeps whoever else is in want: what it was given to
// serve its own. It is not kept for a guess.
func (s *standing) hold() int64 {
	if s.means != exact || s.want > s.rights {
		return 0
	}
	return s.want
}

// spare is how far its rights go beyond what it keeps and a reserve.
func (s *standing) spare(reserve int64) int64 { return max(0, s.rights-max(s.hold(), reserve)) }

// runway is for how long its rights last, in seconds.
func (s *standing) runway() float64 { return s.ahead / max(s.perSecond, idle) }

// lacks is how much it has too little for the time that rights should last, in
// units.
func (s *standing) lacks() float64 { return s.perSecond*ahead - s.ahead }

// field is how all regions stand: what one decision rests on.
type field struct {
	own     int
	regions []standing
	reach   int64 // rights of all regions in touch, in units
	reserve int64 // what each of them keeps for traffic that fails over, in units
}

// look works out how the regions of a view stand. The memory observed it.
func (f *field) look(now time.Duration, v *View, m *memory, reservePercent int) {
	f.own, f.regions, f.reach = v.Own, f.regions[:0], 0
	var spent, ahead, demand float64
	touched := int64(0)
	for i := range v.Regions {
		s := stand(&v.Regions[i], i == v.Own, m.demand[i].perSecond)
		if s.inTouch {
			touched++
			f.reach += max(0, s.rights)
			spent += float64(s.rights) - s.ahead
			ahead += max(0, s.ahead)
			demand += max(s.perSecond, idle)
		}
		f.regions = append(f.regions, s)
	}
	f.want(now, v, m)
	f.part(ahead, demand, touched)
	// A cut leaves out of reach what lies behind it: a reserve of that would
	// never shrink.
	left := max(0, min(v.Left, f.reach)-int64(spent))
	f.reserve = left / touched * int64(reservePercent) / 100
}

func stand(r *Region, own bool, perSecond float64) standing {
	s := standing{inTouch: own || r.Known && r.Age < inTouch, perSecond: perSecond,
		rights: max(-maxUnits, min(r.Rights, maxUnits))}
	until := underway
	if !own {
		until += underway + max(0, min(r.Age, inTouch))
	}
	s.ahead = float64(s.rights) - perSecond*until.Seconds()
	return s
}

// want notes what regions in touch refused lately. What is more than is left
// was told earlier; who is in want still must want what can be had.
func (f *field) want(now time.Duration, v *View, m *memory) {
	for i := range v.Wants {
		w := &v.Wants[i]
		s := &f.regions[w.Region]
		active, said := m.goesOn(now, v, w)
		switch {
		case !s.inTouch || w.Units <= s.want:
		case active && w.Units <= v.Left:
			s.want, s.means = w.Units, exact
		case said && s.want < v.Left:
			s.want, s.means = v.Left, atMost
		}
	}
	f.bar()
}

// bar finds the wants that are out of reach. One that is the only one is for
// all that is in reach: nobody is worse off.
func (f *field) bar() {
	wants := 0
	for i := range f.regions {
		if f.regions[i].want > 0 {
			wants++
		}
	}
	if wants == 0 {
		return
	}
	for i := range f.regions {
		s := &f.regions[i]
		switch within := f.within(i); {
		case s.want <= within:
		case wants == 1:
			s.want, s.means = within, atMost
		default:
			s.means = outOfReach
		}
	}
}

// within is how many units a region could have if all others in touch gave what
// they need not hold.
func (f *field) within(region int) int64 {
	units := f.reach
	for i := range f.regions {
		if s := &f.regions[i]; i != region && s.inTouch {
			units -= s.hold()
		}
	}
	return units
}

// part works out fair parts. Of a region in want one knows that it was refused,
// not how much: it counts as demanding the mean at least.
func (f *field) part(ahead, demand float64, touched int64) {
	mean := demand / float64(touched)
	for i := range f.regions {
		if s := &f.regions[i]; s.inTouch && s.short() > 0 {
			demand += max(0, mean-max(s.perSecond, idle))
		}
	}
	for i := range f.regions {
		s := &f.regions[i]
		if !s.inTouch {
			continue
		}
		weight := max(s.perSecond, idle)
		if s.short() > 0 {
			weight = max(weight, mean)
		}
		s.fair = ahead * weight / demand
	}
}

// owed is the own region's part of what another lacks to its fair part: each
// gives by how far it is above its own. In units.
func (f *field) owed(to int) float64 {
	var above float64
	for i := range f.regions {
		if s := &f.regions[i]; s.inTouch {
			above += max(0, s.ahead-s.fair)
		}
	}
	own, other := &f.regions[f.own], &f.regions[to]
	if above <= 0 || other.fair <= other.ahead {
		return 0
	}
	return (other.fair - other.ahead) * max(0, own.ahead-own.fair) / above
}

// spareBefore is what regions with more to spare than the own one have to spare
// together, in units, for another; and spare what all have.
func (f *field) spareBefore(to int, reserve int64) (before, spare int64) {
	own := f.regions[f.own].spare(reserve)
	for i := range f.regions {
		s := &f.regions[i]
		if i == to || !s.inTouch {
			continue
		}
		units := s.spare(reserve)
		spare += units
		if units > own || units == own && i < f.own {
			before += units
		}
	}
	return before, spare
}
