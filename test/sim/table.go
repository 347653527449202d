package sim

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Table sums up reports.
type Table struct {
	Schedules, Forgetting int
	Events                int
	rows                  map[rowKey]*row
	slowest, shortest     time.Duration
	faults                [len(faultNames)]int
	sum                   Report
}

// row is the reports of one ε, of runs that may be excused something or not.
type row struct {
	schedules int
	allowed   int64
	over      float64
	beyond    int64
}

type rowKey struct {
	epsilon float64
	excuses string
}

// Add takes in a report.
func (t *Table) Add(r *Report) {
	if t.rows == nil {
		t.rows = map[rowKey]*row{}
	}
	t.Schedules++
	t.Events += r.Events
	if r.Forgotten > 0 {
		t.Forgetting++
	}
	of := t.rows[rowKey{r.Epsilon, r.Excuses}]
	if of == nil {
		of = &row{over: -1, beyond: math.MinInt64}
		t.rows[rowKey{r.Epsilon, r.Excuses}] = of
	}
	of.schedules++
	of.allowed += r.Allowed
	of.over = max(of.over, r.MostOver)
	of.beyond = max(of.beyond, r.MostOverBound)
	t.slowest, t.shortest = max(t.slowest, r.Healed), max(t.shortest, r.Shortest)
	for i := range faultNames {
		if r.Faults&(1<<i) != 0 {
			t.faults[i]++
		}
	}
	t.addCounts(r)
}

func (t *Table) addCounts(r *Report) {
	s := &t.sum
	for _, pair := range [][2]*int{
		{&s.AllowedByStore, &r.AllowedByStore}, {&s.AllowedByLease, &r.AllowedByLease}, {&s.AllowedAlone, &r.AllowedAlone},
		{&s.Exhausted, &r.Exhausted}, {&s.NoRights, &r.NoRights}, {&s.StoreAway, &r.StoreAway}, {&s.Unserved, &r.Unserved},
		{&s.Disbelieved, &r.Disbelieved}, {&s.Gifts, &r.Gifts}, {&s.Leases, &r.Leases}, {&s.Reigns, &r.Reigns},
		{&s.Exchanges, &r.Exchanges}, {&s.Unanswered, &r.Unanswered}, {&s.StoresLost, &r.StoresLost}, {&s.Forks, &r.Forks},
	} {
		*pair[0] += *pair[1]
	}
	s.Allowed += r.Allowed
	s.Refunded += r.Refunded
	s.Given += r.Given
	s.Granted += r.Granted
	s.Resets += r.Resets
}

// String is the figures, a line each.
func (t *Table) String() string {
	var b strings.Builder
	s := &t.sum
	fmt.Fprintf(&b, "%d schedules, %d events; slowest healing %v; in %d something was forgotten by all\n", t.Schedules, t.Events, t.slowest, t.Forgetting)
	fmt.Fprintf(&b, "%d units allowed (%d checks by the store, %d by leases, %d alone), %d refunded, %d granted, %d resets\n",
		s.Allowed, s.AllowedByStore, s.AllowedByLease, s.AllowedAlone, s.Refunded, s.Granted, s.Resets)
	fmt.Fprintf(&b, "denied: %d exhausted, %d for want of rights (longest while others had some %v), %d store away; %d not served, %d answers not believed\n",
		s.Exhausted, s.NoRights, t.shortest, s.StoreAway, s.Unserved, s.Disbelieved)
	fmt.Fprintf(&b, "%d gifts of %d units, %d leases, %d reigns, %d exchanges (%d not answered by all), %d stores lost, %d second masters\n",
		s.Gifts, s.Given, s.Leases, s.Reigns, s.Exchanges, s.Unanswered, s.StoresLost, s.Forks)
	for i, word := range faultNames {
		fmt.Fprintf(&b, "%s %d, ", word, t.faults[i])
	}
	b.WriteString("\n")
	b.WriteString("    ε  excused for         schedules  units allowed  most over Q  most over ⌊Q + ε⌋\n")
	for _, e := range Epsilons {
		for _, excuses := range []string{excusesNothing, excusesLost, excusesOpen} {
			if of := t.rows[rowKey{e, excuses}]; of != nil {
				fmt.Fprintf(&b, "%4.0f %%  %-18s  %9d  %13d  %9.1f %%  %+d units\n",
					e*100, excuses, of.schedules, of.allowed, of.over*100, of.beyond)
			}
		}
	}
	return b.String()
}
