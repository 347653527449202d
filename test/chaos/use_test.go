package chaos

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// use is what clients know of one pot, in units, over all regions.
type use struct {
	allowed    int64 // told to be: never forgotten here
	unresolved int64 // asked for, the answer lost
	asking     int64 // asked for, not answered yet
	granted    int64 // what faults allow on top of the bound
	told       bool  // that it was passed
	course     []admitted
}

// admitted is how much of a pot was allowed by an instant.
type admitted struct {
	at    time.Time
	units int64
}

// grain is how far apart the points are that a pot's course is kept by.
const grain = 250 * time.Millisecond

func (u *use) allow(at time.Time, units int64) {
	u.allowed += units
	if n := len(u.course); n > 1 && at.Sub(u.course[n-2].at) < grain {
		u.course[n-1] = admitted{at, u.allowed}
		return
	}
	u.course = append(u.course, admitted{at, u.allowed})
}

func (l *ledger) pot(p pot) *use {
	u := l.pots[p]
	if u == nil {
		u = new(use)
		l.pots[p] = u
	}
	return u
}

// ask notes that units are asked for; what it returns notes that the answer is
// in the ledger.
func (l *ledger) ask(units int64, pots []pot) (answered func()) {
	change := func(by int64) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, p := range pots {
			l.pot(p).asking += by
		}
	}
	change(units)
	return func() { change(-units) }
}

// most is the most units that all regions together may have counted of a pot.
func (l *ledger) most(p pot) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.pot(p)
	return u.allowed + u.unresolved + u.asking
}

// grant lets a pot be passed by units that a fault costs.
func (l *ledger) grant(p pot, units int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pot(p).granted += units
}

// over tells of every pot of which more was allowed than its quota, what it may
// be passed by, and what faults cost.
func (l *ledger) over() (problems []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range slices.SortedFunc(maps.Keys(l.pots), comparePots) {
		u, q := l.pots[p], quotaOf(p.rule)
		if most := q.bound() + u.granted; !q.unbounded && u.allowed > most && !u.told {
			u.told = true
			problems = append(problems, fmt.Sprintf("%v: %d units were allowed; the quota is %d, overshoot %d, and faults cost at most %d",
				p, u.allowed, q.limit, q.over, u.granted))
		}
	}
	return problems
}

// uses copies what is known of every pot.
func (l *ledger) uses() map[pot]use {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[pot]use{}
	for p, u := range l.pots {
		copied := *u
		copied.course = slices.Clone(u.course)
		all[p] = copied
	}
	return all
}

func TestLedgerBoundsWhatIsAllowed(t *testing.T) {
	regions := []string{"ap-south", "eu-west", "us-east"}
	for name, c := range map[string]struct {
		rule    string
		each    int64 // units allowed in each of three regions
		granted int64
		want    int // problems
	}{
		"a strict quota, used up":               {rule: "strict", each: 133},
		"a strict quota, passed":                {rule: "strict", each: 134, want: 1},
		"within an overshoot of 1 %":            {rule: "tight", each: 134},
		"beyond an overshoot of 1 %":            {rule: "tight", each: 135, want: 1},
		"within an overshoot of 20 %":           {rule: "wide", each: 160},
		"beyond an overshoot of 20 %":           {rule: "wide", each: 161, want: 1},
		"what faults cost":                      {rule: "strict", each: 143, granted: 29},
		"more than faults cost":                 {rule: "strict", each: 143, granted: 28, want: 1},
		"no bound":                              {rule: "loose", each: 400},
		"the quota of a minute, in one of them": {rule: "minute", each: 401, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			l, p := newLedger(), thisDay(c.rule, "k")
			for _, r := range regions {
				l.acknowledge(time.Now(), r+"-1", c.each, counted{p, r})
			}
			l.grant(p, c.granted)
			other := p
			other.end += 60
			l.acknowledge(time.Now(), "eu-west-1", quotaOf(c.rule).limit, counted{other, "eu-west"})
			if got := l.over(); len(got) != c.want {
				t.Errorf("problems %q, want %d", got, c.want)
			}
		})
	}
}

func TestForgottenUnitsComeOnTop(t *testing.T) {
	l, p, now := newLedger(), thisDay("strict", "k"), time.Now()
	l.acknowledge(now, "eu-west-1", 20, counted{p, "eu-west"})
	l.forgive(now.Add(-time.Second), &node{process: &process{name: "eu-west-1"}})
	l.acknowledge(now, "eu-west-2", 400, counted{p, "eu-west"})
	if got := l.over(); len(got) != 0 {
		t.Errorf("problems %q, want none", got)
	}
	l.acknowledge(now, "eu-west-2", 1, counted{p, "eu-west"})
	if got := l.over(); len(got) != 1 {
		t.Errorf("problems %q, want 1", got)
	}
}

func TestAskingCountsUntilAnswered(t *testing.T) {
	l, p := newLedger(), thisDay("strict", "k")
	answered := l.ask(7, []pot{p})
	l.lose(3, counted{p, "eu-west"})
	if got := l.most(p); got != 10 {
		t.Errorf("at most %d while asking, want 10", got)
	}
	answered()
	if got := l.most(p); got != 3 {
		t.Errorf("at most %d then, want 3", got)
	}
}
