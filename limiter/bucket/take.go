package bucket

// Take asks for cost tokens at instant nowUs, in microseconds since 1970. It
// returns the state afterwards and whether they were there; if not, nothing is
// taken. Cost 0 always fits and takes nothing; a cost above Burst never fits.
//
// In every interval of length t, at most Burst + Count × t/Window tokens are
// taken, whatever the order of the instants: a clock that steps back gives
// nothing. After such a step a state can lie further ahead than any take could
// have put it; it then counts as empty from now on (see Settle), so that nobody
// is locked out until the clock has caught up.
//
// It is the generic cell rate algorithm in integers, ATM Forum Traffic
// Management 4.0, 4.4.2 (virtual scheduling), with FullAtUs as the theoretical
// arrival time of the first cell that finds the bucket full.
func (r Rate) Take(s State, nowUs, cost int64) (next State, fits bool) {
	s = r.Settle(s, nowUs)
	switch {
	case cost <= 0:
		return s, cost == 0
	case cost > r.Burst || r.missing(s, nowUs) > r.Capacity()-cost*r.Token:
		return s, false
	}
	return r.charge(s, nowUs, cost*r.Token), true
}

// Settle returns the state unless it lies further ahead of nowUs than any take
// could have put it: then an empty bucket that fills from now. A Spare that
// another rate left behind is dropped.
func (r Rate) Settle(s State, nowUs int64) State {
	if s.Spare >= r.Refill {
		s.Spare = 0
	}
	// A take between the last two ticks counts from the later one, hence + 1.
	ticks := r.FillTicks()
	if ceilDiv(max(0, s.FullAtUs-nowUs), r.Tick) > ticks+1 {
		return State{FullAtUs: nowUs + ticks*r.Tick, Spare: ticks*r.Refill - r.Capacity()}
	}
	return s
}

// missing is how many units a settled bucket lacks.
func (r Rate) missing(s State, nowUs int64) int64 {
	if s.FullAtUs <= nowUs {
		return 0
	}
	return min(r.Capacity(), ceilDiv(s.FullAtUs-nowUs, r.Tick)*r.Refill-s.Spare)
}

// charge takes units that are there. A full bucket begins to fill at nowUs;
// any other one keeps its ticks, and what flows until its next one is not
// counted twice.
func (r Rate) charge(s State, nowUs, units int64) State {
	from, missing := nowUs, int64(0)
	if ahead := s.FullAtUs - nowUs; ahead > 0 {
		ticks := ahead / r.Tick
		from = s.FullAtUs - ticks*r.Tick
		missing = max(0, ticks*r.Refill-s.Spare)
	}
	missing += units
	ticks := ceilDiv(missing, r.Refill)
	return State{FullAtUs: from + ticks*r.Tick, Spare: ticks*r.Refill - missing}
}

// Remaining is how many whole tokens are there at nowUs.
func (r Rate) Remaining(s State, nowUs int64) int64 {
	return (r.Capacity() - r.missing(r.Settle(s, nowUs), nowUs)) / r.Token
}

// WaitUs is how many microseconds after nowUs the cost fits, if nobody else
// asks: exactly so long is enough, one less is not. It is 0 when the cost fits
// now and −1 when it never will.
func (r Rate) WaitUs(s State, nowUs, cost int64) int64 {
	if cost > r.Burst {
		return -1
	}
	if cost <= 0 {
		return 0
	}
	s = r.Settle(s, nowUs)
	// It fits with as many ticks to go as flow at most what may be missing.
	ticks := (r.Capacity() - cost*r.Token + s.Spare) / r.Refill
	return max(0, s.FullAtUs-ticks*r.Tick-nowUs)
}

// FullAt is the instant, in microseconds since 1970, from which the bucket is
// full if nobody asks: nowUs when it is.
func (r Rate) FullAt(s State, nowUs int64) int64 {
	return max(nowUs, r.Settle(s, nowUs).FullAtUs)
}
