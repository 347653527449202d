package chaos

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// stalls watches, while nothing is broken, for regions that are denied for want
// of rights again and again although enough is left for them.
type stalls struct {
	mu       sync.Mutex
	healed   time.Time // since when nothing is broken; zero while something is
	waiting  map[counted]wait
	longest  time.Duration // of those that ended well
	problems []string
	rights   func(pot) string // how rights are spread
}

// wait is a cost that a region has no rights for.
type wait struct {
	since time.Time
	units int64
	told  bool
}

const (
	// stallTime is how long a cost may wait for rights while enough is left. A cost
	// of one waits under two seconds; larger ones longer, as smaller ones may take
	// first what was given for them.
	stallTime = 3 * time.Second
	// reserved is the part of what is left that others may keep: each of two
	// regions a fifth of its third, and what six nodes took ahead.
	reserved = 0.2*2/3 + 0.06
	// stranded is what may be left over in rounding, in units.
	stranded = 6
)

func newStalls(rights func(pot) string) *stalls {
	return &stalls{waiting: map[counted]wait{}, rights: rights}
}

// reachable is how much of what is left a region can come by.
func reachable(left int64) int64 { return int64(float64(left)*(1-reserved)) - stranded }

// begin starts the watch, end ends it.
func (s *stalls) begin(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.healed = at
	clear(s.waiting)
}

func (s *stalls) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.healed = time.Time{}
	clear(s.waiting)
}

// denied takes in a denial for want of rights, with what was left of the quota
// at least.
func (s *stalls) denied(at time.Time, c counted, units, left int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.healed.IsZero() {
		return
	}
	if reachable(left) < units {
		delete(s.waiting, c)
		return
	}
	w, waits := s.waiting[c]
	if !waits {
		s.waiting[c] = wait{since: at, units: units}
		return
	}
	w.units = min(w.units, units)
	if at.Sub(w.since) > stallTime && !w.told {
		w.told = true
		if len(s.problems) < maxProblems {
			s.problems = append(s.problems, fmt.Sprintf("%v: %d units denied for want of rights for %v, with nothing broken and %d units left in all: %s",
				c, units, at.Sub(w.since).Round(time.Millisecond), left, s.rights(c.pot)))
		}
	}
	s.waiting[c] = w
}

// allowed takes in an answer that allowed.
func (s *stalls) allowed(at time.Time, units int64, parts ...counted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range parts {
		if w, waits := s.waiting[c]; waits && units >= w.units {
			s.longest = max(s.longest, at.Sub(w.since))
			delete(s.waiting, c)
		}
	}
}

// takeProblems returns what was found since it was last asked.
func (s *stalls) takeProblems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.problems
	s.problems = nil
	return found
}

// longestWait is the longest that a region waited for rights and got them.
func (s *stalls) longestWait() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.longest
}

func TestStallsAreTold(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(1000, 0).Add(time.Duration(ms) * time.Millisecond) }
	part := counted{thisDay("strict", "k"), "eu-west"}
	for name, c := range map[string]struct {
		meanwhile func(s *stalls)
		left      int64
		want      int
	}{
		"denied all the time":          {left: 100, want: 1},
		"nothing but reserves is left": {left: 15},
		"a cost that large is allowed": {left: 100, meanwhile: func(s *stalls) { s.allowed(at(900), 10, part) }},
		"a smaller cost is allowed":    {left: 100, meanwhile: func(s *stalls) { s.allowed(at(900), 9, part) }, want: 1},
		"another region is allowed": {left: 100, want: 1,
			meanwhile: func(s *stalls) { s.allowed(at(900), 10, counted{part.pot, "us-east"}) }},
		"something breaks and is mended": {left: 100, meanwhile: func(s *stalls) { s.end(); s.begin(at(900)) }},
		"something is broken":            {left: 100, meanwhile: func(s *stalls) { s.end() }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStalls(func(pot) string { return "" })
			s.begin(at(0))
			s.denied(at(500), part, 10, c.left)
			if c.meanwhile != nil {
				c.meanwhile(s)
			}
			s.denied(at(1000), part, 10, c.left)
			s.denied(at(3501), part, 10, c.left)
			s.denied(at(3600), part, 10, c.left) // one stall is told once
			if got := s.takeProblems(); len(got) != c.want {
				t.Errorf("problems %q, want %d", got, c.want)
			}
		})
	}
}
