package sim

import "time"

// Report is what a run came to.
type Report struct {
	Trace  uint64 // fingerprint of all events
	Events int
	Healed time.Duration // from the healing until all nodes agreed

	// Checks by what was said: allowed by the store, by a lease, without the
	// store; denied for want of quota, of rights, of a store; not asked because
	// no node was up.
	AllowedByStore, AllowedByLease, AllowedAlone int
	Exhausted, NoRights, StoreAway, Unserved     int
	Disbelieved                                  int

	Allowed, Refunded int64 // units
	Gifts             int
	Given             int64 // units
	Leases            int
	Reigns            int
	Exchanges         int
	Unanswered        int // exchanges that not all answered
	StoresLost, Forks int
	Forgotten         int // replicas of which the last counts were lost with all who knew

	Faults  Faults
	Epsilon float64
	Excuses string // why the bound yields: "nothing", "lost stores", "open"
	// MostOver is how far beyond Q a row went, at most, as a share of Q; MostOverBound,
	// beyond ⌊Q + ε⌋, in units, which faults excused.
	MostOver      float64
	MostOverBound int64
	any           bool
	// Granted and Resets are what operators did.
	Granted int64 // units
	Resets  int
	// Shortest is the longest that a region was denied for want of rights while
	// others had some.
	Shortest time.Duration
}

func (r *Report) gave(units int64) {
	if units > 0 {
		r.Gifts++
		r.Given += units
	}
}

// over notes how many units of a row are allowed, net.
func (r *Report) over(rt *rowTruth, allowed int64) {
	if rt.rule == nil || rt.rule.limit == 0 {
		return
	}
	if !r.any {
		r.any, r.MostOver, r.MostOverBound = true, -1, -rt.rule.total
	}
	r.MostOver = max(r.MostOver, float64(allowed-rt.rule.limit)/float64(rt.rule.limit))
	r.MostOverBound = max(r.MostOverBound, allowed-rt.rule.total)
}

// end takes in what is left at the end.
func (r *Report) end(w *world) {
	r.Faults, r.Epsilon, r.Excuses = w.plan.Faults, w.plan.Epsilon, w.plan.excuses()
}
