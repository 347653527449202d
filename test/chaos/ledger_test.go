package chaos

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"
)

// account is what clients know of one part, in units.
type account struct {
	acknowledged int64 // answered with allowed
	unresolved   int64 // asked for, the answer lost: counted or not
	forgiven     int64 // acknowledged, but of what the fault at hand may forget
	unsettled    int64 // taken ahead at most, by nodes that a fault took them from
}

// ledger keeps every answer. It bounds what nodes may show once nothing is in
// flight, and what all regions together may allow.
type ledger struct {
	mu       sync.Mutex
	accounts map[counted]*account
	pots     map[pot]*use
	recent   []acknowledgement // of the last keepRecent, oldest first
}

// acknowledgement is one answer.
type acknowledgement struct {
	at    time.Time
	what  counted
	node  string
	units int64
}

// keepRecent is how long answers are kept one by one: longer than what a fault
// may forget.
const keepRecent = 5 * time.Second

func newLedger() *ledger {
	return &ledger{accounts: map[counted]*account{}, pots: map[pot]*use{}}
}

func (l *ledger) account(c counted) *account {
	a := l.accounts[c]
	if a == nil {
		a = new(account)
		l.accounts[c] = a
	}
	return a
}

func (l *ledger) acknowledge(at time.Time, node string, units int64, parts ...counted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.recent) > 0 && at.Sub(l.recent[0].at) > keepRecent {
		l.recent = l.recent[1:]
	}
	for _, c := range parts {
		l.account(c).acknowledged += units
		l.pot(c.pot).allow(at, units)
		l.recent = append(l.recent, acknowledgement{at, c, node, units})
	}
}

func (l *ledger) lose(units int64, parts ...counted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range parts {
		l.account(c).unresolved += units
		l.pot(c.pot).unresolved += units
	}
}

// forgive lets be forgotten what the nodes allowed from an instant on, and
// returns how many units that is. They come on top of the bound.
func (l *ledger) forgive(since time.Time, nodes ...*node) (units int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.recent {
		if a.at.After(since) && slices.ContainsFunc(nodes, func(n *node) bool { return n.name == a.node }) {
			l.account(a.what).forgiven += a.units
			l.pot(a.what.pot).granted += a.units
			units += a.units
		}
	}
	return units
}

// unsettle notes that nodes of a region lost what they had taken ahead of a
// rule: of each key at most a hundredth of what the region had left.
func (l *ledger) unsettle(rule, region string, nodes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c, a := range l.accounts {
		if c.rule == rule && c.region == region {
			a.unsettled += nodes * (quotaOf(rule).bound() / 100)
		}
	}
}

// settle makes what the nodes agree on the new bound for what was forgiven:
// what has come out as counted is never forgotten later.
func (l *ledger) settle(shown map[counted]int64) (forgotten int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c, a := range l.accounts {
		if a.forgiven > 0 && !c.ended(time.Now()) {
			lost := max(0, a.acknowledged-shown[c])
			forgotten += lost
			a.acknowledged -= lost
			a.unresolved += lost // a snapshot may yet bring it back
		}
		a.forgiven = 0
	}
	return forgotten
}

// wrong compares what a node shows with the accounts, for when no call is in
// flight; one sentence for each part that is out of bounds. Of periods that are
// over nothing need be shown.
func (l *ledger) wrong(shown map[counted]int64) (problems []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for _, c := range slices.SortedFunc(maps.Keys(l.accounts), compareCounted) {
		a := l.accounts[c]
		least, most := a.acknowledged-a.forgiven, a.acknowledged+a.unresolved+a.unsettled
		if n := shown[c]; (n < least || n > most) && !c.ended(now) {
			problems = append(problems, fmt.Sprintf("%v: shown %d, acknowledged %d, unresolved %d, may be forgotten %d, may be unsettled %d",
				c, n, a.acknowledged, a.unresolved, a.forgiven, a.unsettled))
		}
	}
	for c, n := range shown {
		if l.accounts[c] == nil && n != 0 && !c.ended(now) {
			problems = append(problems, fmt.Sprintf("%v: shown %d, nobody asked", c, n))
		}
	}
	return problems
}

// sums adds the accounts of a region.
func (l *ledger) sums(region string) (sum account) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for c, a := range l.accounts {
		if c.region == region && !c.ended(now) {
			sum.acknowledged += a.acknowledged
			sum.unresolved += a.unresolved
		}
	}
	return sum
}

func compareCounted(a, b counted) int {
	if n := comparePots(a.pot, b.pot); n != 0 {
		return n
	}
	return slices.Compare([]string{a.region}, []string{b.region})
}

// thisDay is a pot of today and somewhat later.
func thisDay(rule, key string) pot {
	return pot{rule, key, time.Now().Add(24 * time.Hour).Unix()}
}

func TestLedgerBoundsWhatIsShown(t *testing.T) {
	part := counted{thisDay("hot", "k"), "eu-west"}
	for name, c := range map[string]struct {
		shown  int64
		forgot bool // the node's last second is forgiven
		ahead  bool // a node lost what it had taken ahead
		want   int  // problems
	}{
		"exactly what was acknowledged":          {shown: 30},
		"all that is unresolved was counted":     {shown: 35},
		"an acknowledged unit is missing":        {shown: 29, want: 1},
		"more than anybody asked":                {shown: 36, want: 1},
		"what was taken ahead was lost":          {shown: 75, ahead: true},
		"more than was taken ahead":              {shown: 76, ahead: true, want: 1},
		"the forgiven part is missing":           {shown: 10, forgot: true},
		"more than the forgiven part is missing": {shown: 9, forgot: true, want: 1},
		"nothing is shown":                       {shown: 0, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			l, now := newLedger(), time.Now()
			l.acknowledge(now.Add(-3*time.Second), "eu-west-1", 10, part)
			l.acknowledge(now, "eu-west-1", 20, part)
			l.lose(5, part)
			if c.forgot {
				if got := l.forgive(now.Add(-time.Second), &node{process: &process{name: "eu-west-1"}}); got != 20 {
					t.Fatalf("forgave %d units, want 20", got)
				}
			}
			if c.ahead {
				l.unsettle("hot", "eu-west", 1)
			}
			if got := l.wrong(map[counted]int64{part: c.shown}); len(got) != c.want {
				t.Errorf("problems: %q, want %d", got, c.want)
			}
		})
	}
	if got := newLedger().wrong(map[counted]int64{part: 1}); len(got) != 1 {
		t.Errorf("counted what nobody asked: problems %q, want 1", got)
	}
}

func TestLedgerSettlesOnWhatCameOut(t *testing.T) {
	part, l, now := counted{thisDay("daily", "k"), "eu-west"}, newLedger(), time.Now()
	l.acknowledge(now, "eu-west-1", 20, part)
	l.forgive(now.Add(-time.Second), &node{process: &process{name: "eu-west-1"}})
	if got := l.settle(map[counted]int64{part: 13}); got != 7 {
		t.Errorf("forgotten: %d, want 7", got)
	}
	if got := l.wrong(map[counted]int64{part: 12}); len(got) != 1 {
		t.Errorf("what came out is missing later: problems %q, want 1", got)
	}
	if got := l.wrong(map[counted]int64{part: 13}); len(got) != 0 {
		t.Errorf("what came out is shown: problems %q, want none", got)
	}
}
