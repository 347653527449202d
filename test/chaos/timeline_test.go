package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	weirv1 "weir/proto/weir/v1"
)

// timeline is what a run looked like, second by second, for the report. It
// bounds nothing and is never held against a node.
type timeline struct {
	began time.Time

	mu      sync.Mutex
	seconds []second
	gifts   map[counted]int64  // the most rights that a region was seen to have received
	shown   map[counted]string // what a region's own nodes said of its rights last
}

// second is what happened in one second of the run.
type second struct {
	answers map[string]int // by what was answered
	// stale is the greatest age of a region's news at any node of another.
	stale map[string]time.Duration
}

// never is the staleness of a region that was never heard.
const never = time.Hour

func newTimeline(began time.Time) *timeline {
	return &timeline{began: began, gifts: map[counted]int64{}, shown: map[counted]string{}}
}

// at is the second of an instant. The caller holds t.mu.
func (t *timeline) at(at time.Time) second {
	i := max(0, int(at.Sub(t.began)/time.Second))
	for len(t.seconds) <= i {
		t.seconds = append(t.seconds, second{map[string]int{}, map[string]time.Duration{}})
	}
	return t.seconds[i]
}

// The words for what was answered, beside those of the API for denials.
const (
	answerAllowed = "allowed"
	answerLease   = "allowed from a lease"
	answerNone    = "no answer"
)

// answer takes in one; nil is none.
func (t *timeline) answer(at time.Time, a *weirv1.CheckResponse) {
	what := answerAllowed
	switch {
	case a == nil:
		what = answerNone
	case !a.Allowed:
		what = strings.ToLower(strings.TrimPrefix(a.Reason.String(), "REASON_"))
	case a.DecidedBy == weirv1.DecidedBy_DECIDED_BY_LEASE:
		what = answerLease
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at(at).answers[what]++
}

// look takes in what nodes show.
func (t *timeline) look(views []view) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, v := range views {
		s := t.at(v.asked)
		for region, age := range v.stale {
			if region == v.region() {
				continue
			}
			if age < 0 {
				age = never
			}
			s.stale[region] = max(s.stale[region], age)
		}
		for c, units := range v.gifts {
			t.gifts[c] = max(t.gifts[c], units)
		}
		for c, units := range v.rights {
			if c.region == v.region() {
				t.shown[c] = fmt.Sprintf("%s had %d, wanted %d (%v)", c.region, units, v.unmet[c], v.asked.Sub(t.began).Round(time.Millisecond))
			}
		}
	}
}

func (t *timeline) giftsTo(c counted) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.gifts[c]
}

// rights tells how the rights of a pot were spread when nodes were last looked
// at.
func (t *timeline) rights(p pot) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []string
	for c, text := range t.shown {
		if c.pot == p {
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// copy is the timeline so far.
func (t *timeline) copy() []second {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := slices.Clone(t.seconds)
	for i, s := range all {
		all[i] = second{maps.Clone(s.answers), maps.Clone(s.stale)}
	}
	return all
}

// doubled is what a region may let through twice while it has two masters.
type doubled struct {
	region string
	began  time.Time
	rights map[counted]int64 // when it began
	gifts  map[counted]int64
}

// double begins one. Nothing is in flight.
func double(r *region, views []view, now time.Time) *doubled {
	d := &doubled{region: r.name, began: now, rights: map[counted]int64{}, gifts: map[counted]int64{}}
	for _, v := range views {
		if v.err != nil || v.region() != r.name {
			continue
		}
		for c, units := range v.rights {
			if c.region == r.name {
				d.rights[c] = max(d.rights[c], units)
				d.gifts[c] = max(d.gifts[c], v.gifts[c])
			}
		}
	}
	return d
}

// of is how many units of a pot come on top: what the region had rights to when
// it began, its share if it had not begun to use them, and what it was given
// meanwhile.
func (d *doubled) of(p pot, regions []string, gifts int64) int64 {
	c := counted{p, d.region}
	rights, known := d.rights[c]
	if !known {
		rights = quotaOf(p.rule).share(d.region, regions)
	}
	return rights + gifts - d.gifts[c]
}

// grant grants it, when one master is gone.
func (d *doubled) grant(w *world) {
	for p := range w.ledger.uses() {
		if q := quotaOf(p.rule); !q.unbounded && !p.ended(d.began) {
			w.ledger.grant(p, d.of(p, w.network.regions, w.timeline.giftsTo(counted{p, d.region})))
		}
	}
}
