package sim

import (
	"fmt"
	"strings"
	"time"
)

// Table sums up reports.
type Table struct {
	Schedules, Forgetting int
	Events                int
	byEpsilon             map[float64]*row
	slowest, shortest     time.Duration
	faults                [len(faultWords)]int
	sum                   Report
}

// row is the reports of one epsilon.
type row struct {
	schedules int
	allowed   int64
	over      float64
	excused   int64
}

var faultWords = [...]string{"network", "crashes", "disks", "wipes", "set back", "split brain", "outages", "pauses", "burials"}

// Add takes in a report.
func (t *Table) Add(r *Report) {
	if t.byEpsilon == nil {
		t.byEpsilon = map[float64]*row{}
	}
	t.Schedules++
	t.Events += r.Events
	if r.Forgotten > 0 {
		t.Forgetting++
	}
	of := t.byEpsilon[r.Epsilon]
	if of == nil {
		of = &row{}
		t.byEpsilon[r.Epsilon] = of
	}
	of.schedules++
	of.allowed += r.Allowed
	of.over = max(of.over, r.MostOver)
	of.excused = max(of.excused, r.MostOverBound)
	t.slowest, t.shortest = max(t.slowest, r.Healed), max(t.shortest, r.Shortest)
	for i := range faultWords {
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
}

// String is the figures, a line each.
func (t *Table) String() string {
	var b strings.Builder
	s := &t.sum
	fmt.Fprintf(&b, "%d schedules, %d events; slowest healing %v; in %d something was forgotten by all\n", t.Schedules, t.Events, t.slowest, t.Forgetting)
	fmt.Fprintf(&b, "%d units allowed (%d checks by the store, %d by leases, %d alone), %d refunded\n", s.Allowed, s.AllowedByStore, s.AllowedByLease, s.AllowedAlone, s.Refunded)
	fmt.Fprintf(&b, "denied: %d exhausted, %d for want of rights (longest while others had some %v), %d store away; %d not served, %d answers not believed\n",
		s.Exhausted, s.NoRights, t.shortest, s.StoreAway, s.Unserved, s.Disbelieved)
	fmt.Fprintf(&b, "%d gifts of %d units, %d leases, %d reigns, %d exchanges (%d not answered by all), %d stores lost, %d second masters\n",
		s.Gifts, s.Given, s.Leases, s.Reigns, s.Exchanges, s.Unanswered, s.StoresLost, s.Forks)
	for i, word := range faultWords {
		fmt.Fprintf(&b, "%s %d, ", word, t.faults[i])
	}
	b.WriteString("\n")
	for _, e := range Epsilons {
		if of := t.byEpsilon[e]; of != nil {
			fmt.Fprintf(&b, "ε = %.0f %%: %d schedules, %d units allowed, at most %.1f %% over Q; over ⌊Q + ε⌋ by at most %d units, all excused by faults\n",
				e*100, of.schedules, of.allowed, of.over*100, max(0, of.excused))
		}
	}
	return b.String()
}
