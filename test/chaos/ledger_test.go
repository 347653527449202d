package chaos

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"
)

// counted is a region's part of a quota key: what clients of that region used.
type counted struct{ rule, key, region string }

func (c counted) String() string { return c.rule + "/" + c.key + " by " + c.region }

// account is what clients know of one part, in units.
type account struct {
	acknowledged int64 // answered with allowed
	unresolved   int64 // asked for, the answer lost: counted or not
	forgiven     int64 // acknowledged, but of what the fault at hand may forget
}

// ledger keeps every answer. It bounds what nodes may show once nothing is in
// flight.
type ledger struct {
	mu       sync.Mutex
	accounts map[counted]*account
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

func newLedger() *ledger { return &ledger{accounts: map[counted]*account{}} }

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
		l.recent = append(l.recent, acknowledgement{at, c, node, units})
	}
}

func (l *ledger) lose(units int64, parts ...counted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range parts {
		l.account(c).unresolved += units
	}
}

// forgive lets be forgotten what the nodes allowed from an instant on, and
// returns how many units that is.
func (l *ledger) forgive(since time.Time, nodes ...*node) (units int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.recent {
		if a.at.After(since) && slices.ContainsFunc(nodes, func(n *node) bool { return n.name == a.node }) {
			l.account(a.what).forgiven += a.units
			units += a.units
		}
	}
	return units
}

// settle makes what the nodes agree on the new bound for what was forgiven:
// what has come out as counted is never forgotten later.
func (l *ledger) settle(shown map[counted]int64) (forgotten int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c, a := range l.accounts {
		if a.forgiven > 0 {
			lost := max(0, a.acknowledged-shown[c])
			forgotten += lost
			a.acknowledged -= lost
			a.unresolved += lost // a snapshot may yet bring it back
			a.forgiven = 0
		}
	}
	return forgotten
}

// wrong compares what a node shows with the accounts, for when no call is in
// flight; one sentence for each part that is out of bounds.
func (l *ledger) wrong(shown map[counted]int64) (problems []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range slices.SortedFunc(maps.Keys(l.accounts), compareCounted) {
		a := l.accounts[c]
		least, most := a.acknowledged-a.forgiven, a.acknowledged+a.unresolved
		if n := shown[c]; n < least || n > most {
			problems = append(problems, fmt.Sprintf("%v: shown %d, acknowledged %d, unresolved %d, may be forgotten %d", c, n, a.acknowledged, a.unresolved, a.forgiven))
		}
	}
	for c, n := range shown {
		if l.accounts[c] == nil && n != 0 {
			problems = append(problems, fmt.Sprintf("%v: shown %d, nobody asked", c, n))
		}
	}
	return problems
}

// most is the most units that all regions together may have counted of a key,
// of answers that have come.
func (l *ledger) most(rule, key string) (units int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c, a := range l.accounts {
		if c.rule == rule && c.key == key {
			units += a.acknowledged + a.unresolved
		}
	}
	return units
}

// sums adds the accounts of a region.
func (l *ledger) sums(region string) (sum account) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c, a := range l.accounts {
		if c.region == region {
			sum.acknowledged += a.acknowledged
			sum.unresolved += a.unresolved
		}
	}
	return sum
}

func compareCounted(a, b counted) int {
	return slices.Compare([]string{a.rule, a.key, a.region}, []string{b.rule, b.key, b.region})
}

func TestLedgerBoundsWhatIsShown(t *testing.T) {
	part := counted{"daily", "k", "eu-west"}
	for name, c := range map[string]struct {
		shown  int64
		forgot bool // the node's last second is forgiven
		want   int  // problems
	}{
		"exactly what was acknowledged":          {shown: 30},
		"all that is unresolved was counted":     {shown: 35},
		"an acknowledged unit is missing":        {shown: 29, want: 1},
		"more than anybody asked":                {shown: 36, want: 1},
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
	part, l, now := counted{"daily", "k", "eu-west"}, newLedger(), time.Now()
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
