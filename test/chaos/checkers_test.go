package chaos

import (
	"errors"
	"strings"
	"testing"
	"time"

	weirv1 "weir/proto/weir/v1"
)

// These tests show each checker what it must tell of, and what it must not.

// shown is a made-up view of a node: what its region and others took of a pot.
func shown(n *node, p pot, taken map[string]int64) view {
	v := view{node: n, life: 1, asked: time.Now(), taken: map[counted]int64{}, net: map[counted]int64{}}
	n.life.Store(1)
	for region, units := range taken {
		v.taken[counted{p, region}], v.net[counted{p, region}] = units, units
	}
	return v
}

func TestMonitorTellsOfUnitsThatBecomeFewer(t *testing.T) {
	w := still()
	n, p := w.nodes()[0], thisDay("daily", "k")
	ended := pot{"minute", "k", time.Now().Unix() - 1}
	for name, c := range map[string]struct {
		pot    pot
		second int64
		life   int64
		want   int
	}{
		"as many":             {pot: p, second: 10, life: 1},
		"fewer":               {pot: p, second: 9, life: 1, want: 1},
		"fewer in a new life": {pot: p, second: 9, life: 2},
		"the period is over":  {pot: ended, second: 0, life: 1},
	} {
		m := newMonitor(w)
		m.checkGrowth([]view{shown(n, c.pot, map[string]int64{"eu-west": 10})})
		later := shown(n, c.pot, map[string]int64{"eu-west": c.second})
		later.life = c.life
		n.life.Store(c.life)
		m.checkGrowth([]view{later})
		if got := m.takeProblems(); len(got) != c.want {
			t.Errorf("%s: problems %q, want %d", name, got, c.want)
		}
	}
}

func TestMonitorTellsOfNodesThatLag(t *testing.T) {
	w := still()
	here, there := w.nodes()[0], w.nodes()[2] // of two regions
	p := thisDay("daily", "k")
	m := newMonitor(w)
	m.calm.Store(time.Now().Add(-time.Minute).UnixNano())
	m.floors = []floor{{time.Now().Add(-maxLag - time.Second), map[counted]int64{{p, "ap-south"}: 10}}}
	m.checkLag([]view{shown(here, p, map[string]int64{"ap-south": 10}), shown(there, p, map[string]int64{"ap-south": 9})})
	if got := m.takeProblems(); len(got) != 1 {
		t.Errorf("a node that lags: problems %q, want 1", got)
	}
	m.floors = []floor{{time.Now().Add(-maxLag - time.Second), map[counted]int64{{p, "ap-south"}: 10}}}
	m.checkLag([]view{shown(here, p, map[string]int64{"ap-south": 10}), shown(there, p, map[string]int64{"ap-south": 10})})
	if got := m.takeProblems(); len(got) != 0 {
		t.Errorf("none lags: problems %q, want none", got)
	}
}

func TestViewsThatDifferAreTold(t *testing.T) {
	w, p := still(), thisDay("strict", "k")
	a, b := w.nodes()[0], w.nodes()[1]
	same := shown(a, p, map[string]int64{"eu-west": 10})
	if got := different([]view{same, shown(b, p, map[string]int64{"eu-west": 10})}); got != "" {
		t.Errorf("the same: %s", got)
	}
	for name, other := range map[string]view{
		"fewer":   shown(b, p, map[string]int64{"eu-west": 9}),
		"more":    shown(b, p, map[string]int64{"eu-west": 11}),
		"nothing": shown(b, p, nil),
		"failed":  {node: b, err: errors.New("refused")},
	} {
		if different([]view{same, other}) == "" {
			t.Errorf("%s: nothing was told", name)
		}
	}
	if behind([]view{same}, map[counted]int64{{p, "eu-west"}: 11}) == "" {
		t.Error("behind the floor: nothing was told")
	}
	touch := view{node: a, touch: map[string]weirv1.Touch{"eu-west": weirv1.Touch_TOUCH_BEHIND}}
	if badTouch([]view{touch}, func(string, string) weirv1.Touch { return weirv1.Touch_TOUCH_IN_TOUCH }) == "" {
		t.Error("behind where it should be in touch: nothing was told")
	}
}

// ask is a check of one unit of a key.
func ask(rule, key string) question {
	q := question{units: 1, request: &weirv1.CheckRequest{Attributes: map[string]string{}}}
	q.count(rule, key)
	return q
}

func TestAnswersThatCannotBeRightAreTold(t *testing.T) {
	now := time.Now()
	end := quotaOf("strict").end(now)
	allow := func(by weirv1.DecidedBy) *weirv1.CheckResponse {
		return &weirv1.CheckResponse{Allowed: true, DecidedBy: by, Limits: []*weirv1.LimitStatus{{Rule: "strict", ResetUnixSeconds: end}}}
	}
	deny := func(rule string, reason weirv1.Reason) *weirv1.CheckResponse {
		return &weirv1.CheckResponse{Rule: rule, Reason: reason, ResetUnixSeconds: end}
	}
	for name, c := range map[string]struct {
		asked  question
		answer *weirv1.CheckResponse
		used   int64 // units acknowledged before
		usedUp bool  // as every node knew
		want   string
	}{
		"allowed":                   {asked: ask("strict", "k"), answer: allow(weirv1.DecidedBy_DECIDED_BY_STORE)},
		"allowed from a lease":      {asked: ask("strict", "k"), answer: allow(weirv1.DecidedBy_DECIDED_BY_LEASE)},
		"allowed by nobody":         {asked: ask("strict", "k"), answer: allow(weirv1.DecidedBy_DECIDED_BY_NO_RULE), want: "allowed by"},
		"allowed of what is gone":   {asked: ask("strict", "k"), answer: allow(weirv1.DecidedBy_DECIDED_BY_STORE), usedUp: true, want: "used up"},
		"allowed without its rule":  {asked: ask("tight", "k"), answer: allow(weirv1.DecidedBy_DECIDED_BY_STORE), want: "not in the answer"},
		"used up":                   {asked: ask("strict", "k"), answer: deny("strict", weirv1.Reason_REASON_QUOTA_EXHAUSTED), used: 400},
		"said to be used up early":  {asked: ask("strict", "k"), answer: deny("strict", weirv1.Reason_REASON_QUOTA_EXHAUSTED), used: 299, want: "as used up"},
		"no rights":                 {asked: ask("strict", "k"), answer: deny("strict", weirv1.Reason_REASON_QUOTA_RIGHTS_EXHAUSTED)},
		"no rights without a bound": {asked: ask("loose", "k"), answer: deny("loose", weirv1.Reason_REASON_QUOTA_RIGHTS_EXHAUSTED), want: "denied"},
		"denied by another rule":    {asked: ask("strict", "k"), answer: deny("wide", weirv1.Reason_REASON_QUOTA_EXHAUSTED), want: "denied"},
		"too many keys":             {asked: ask("strict", "k"), answer: deny("strict", weirv1.Reason_REASON_CAPACITY), want: "denied"},
	} {
		t.Run(name, func(t *testing.T) {
			w := still()
			n, p := w.nodes()[0], pot{"strict", "k", end}
			w.stalls = newStalls(func(pot) string { return "" })
			l := newLoad(w)
			w.ledger.acknowledge(now, n.name, c.used, counted{p, n.region.name})
			l.usedUp = map[pot]bool{p: c.usedUp}
			if c.answer.Allowed {
				l.allowed(n, c.asked, now, c.answer)
			} else {
				l.checkDenial(n, c.asked, now, c.answer)
			}
			got := strings.Join(l.takeProblems(), "; ")
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("told %q, want %q in it", got, c.want)
			}
		})
	}
}

func TestBlameFallsOnWhoWasNotTouched(t *testing.T) {
	n := still().nodes()[0]
	late := extremes{lastError: errors.New("deadline exceeded")}
	for name, c := range map[string]struct {
		fault fault
		met   counts
		worst extremes
		want  int
	}{
		"nothing":                           {},
		"a call failed":                     {met: counts{failed: 1}, worst: late, want: 1},
		"a call failed at a killed node":    {fault: fault{hurt: []*node{n}}, met: counts{failed: 1}, worst: late},
		"a call failed as Redis was away":   {fault: fault{away: []*node{n}}, met: counts{failed: 1}, worst: late, want: 1},
		"Redis was away, and it said so":    {fault: fault{away: []*node{n}}, met: counts{away: 9}},
		"it said so, and Redis was there":   {met: counts{away: 9}, want: 1},
		"it allowed nothing for long":       {worst: extremes{silence: 3 * time.Second}, want: 1},
		"it allowed nothing, without Redis": {fault: fault{away: []*node{n}}, worst: extremes{silence: 3 * time.Second}},
	} {
		s := &step{fault: &c.fault}
		new(outcome).blame(s, n, c.met, c.worst)
		if len(s.problems) != c.want {
			t.Errorf("%s: problems %q, want %d", name, s.problems, c.want)
		}
	}
}

func TestTwoMastersCostWhatTheRegionHad(t *testing.T) {
	w, p := still(), thisDay("strict", "k")
	w.timeline = newTimeline(time.Now())
	w.network = &network{regions: []string{"ap-south", "eu-west", "us-east"}}
	here := counted{p, "eu-west"}
	v := view{node: w.regions[1].nodes[0], rights: map[counted]int64{here: 50}, gifts: map[counted]int64{here: 20}}
	twice := double(w.regions[1], []view{v}, time.Now())
	w.ledger.acknowledge(time.Now(), "eu-west-1", 475, here) // 50 and 25 more than the quota
	fresh := counted{thisDay("strict", "fresh"), "eu-west"}
	w.ledger.acknowledge(time.Now(), "eu-west-1", 533, fresh) // its share more
	w.timeline.gifts[here] = 45
	twice.grant(w)
	if got := w.ledger.over(); len(got) != 0 {
		t.Errorf("what two masters cost: %q, want nothing", got)
	}
	w.ledger.acknowledge(time.Now(), "eu-west-1", 1, here, fresh)
	if got := w.ledger.over(); len(got) != 2 {
		t.Errorf("one more of each: %q, want 2 problems", got)
	}
}
