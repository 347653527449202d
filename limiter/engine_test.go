package limiter

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"weir/limiter/rule"
	"weir/limiter/store"
	"weir/limiter/store/embedded"
)

const testRules = `
rules:
  - {name: second, count_by: [key], limit: 10/s}
  - {name: minute, count_by: [key], limit: 12/m}
  - {name: path, match: {path: /slow}, count_by: [key, path], limit: 1/s, burst: 2}
  - {name: daily, count_by: [user], quota: 5/day}
`

// noon is a moment far from the borders of any period.
const noon = 1_750_075_200_000_000

type bench struct {
	engine *Engine
	ledger *recorder
	nowUs  int64
}

// recorder is a ledger that remembers, and knows of a fixed use elsewhere.
type recorder struct {
	elsewhere int64
	full      bool
	recorded  []store.QuotaRow
	// allotted bounds the region's rights where it is not 0.
	allotted int64
	marks    bool
	refused  int
	// disbelieve takes so many answers for lost.
	disbelieve int
	// generation is the newest of every row.
	generation uint32
}

func (r *recorder) View(take *store.QuotaRow) bool {
	take.Row.Generation = r.generation
	sum := sha256.Sum256(fmt.Appendf(nil, "%v", take.Row))
	take.ID = store.ID(sum[:16])
	take.Elsewhere, take.Allotted = r.elsewhere, take.Total
	if r.allotted > 0 {
		take.Allotted = r.allotted
	}
	return !r.full
}

func (r *recorder) Record(take *store.QuotaRow) bool {
	r.recorded = append(r.recorded, *take)
	r.disbelieve--
	return r.disbelieve < 0
}
func (r *recorder) Mark(*store.QuotaRow) bool                { return r.marks }
func (r *recorder) Refused(*store.QuotaRow)                  { r.refused++ }
func (r *recorder) RightsWait(*store.QuotaRow) time.Duration { return 300 * time.Millisecond }

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{ledger: new(recorder), nowUs: noon}
	s := embedded.New(embedded.Options{Now: func() int64 { return b.nowUs }})
	b.engine = newEngine(t, s, b.ledger, func() time.Time { return time.UnixMicro(b.nowUs) })
	return b
}

func newEngine(t *testing.T, s store.Store, l Ledger, now func() time.Time) *Engine {
	t.Helper()
	rules, err := rule.Parse("rules.yaml", []byte(testRules))
	if err != nil {
		t.Fatal(err)
	}
	return NewEngine(rules, s, l, now)
}

func (b *bench) check(cost int64, attrs ...string) Decision {
	return b.engine.Check(context.Background(), ask(cost, attrs...))
}

func ask(cost int64, attrs ...string) *Request {
	req := &Request{Attributes: map[string]string{}, Cost: cost, Explain: true}
	for i := 0; i < len(attrs); i += 2 {
		req.Attributes[attrs[i]] = attrs[i+1]
	}
	return req
}

func TestNoRuleAllowsAndCountsNothing(t *testing.T) {
	d := newBench(t).check(1, "other", "x")
	if !d.Allowed || d.DecidedBy != DecidedByNoRule || d.Rule != "" || len(d.Limits) != 0 {
		t.Errorf("got %+v", d)
	}
}

func TestTheLeastShareIsReportedWhenAllowed(t *testing.T) {
	b := newBench(t)
	// 4 of 10 a second and 4 of 12 a minute: the second has less of its share.
	if d := b.check(4, "key", "a"); !d.Allowed || d.Rule != "second" || d.Remaining != 6 || d.Limit != 10 || d.Burst != 10 {
		t.Errorf("got %+v", d)
	}
	b.nowUs += 1e6 // the second is whole again, the minute has 8 of 12
	if d := b.check(0, "key", "a"); d.Rule != "minute" || d.Remaining != 8 {
		t.Errorf("got %+v", d)
	}
}

func TestTheLongestWaitIsReportedWhenDenied(t *testing.T) {
	b := newBench(t)
	b.check(10, "key", "a")
	// second: 3 more need 0.3 s. minute: 2 left, 1 more needs 5 s.
	d := b.check(3, "key", "a")
	if d.Allowed || d.Rule != "minute" || d.Reason != ReasonLimitExceeded || d.RetryAfter != 5*time.Second {
		t.Errorf("got %+v", d)
	}
	b.nowUs += d.RetryAfter.Microseconds() - 1
	if d := b.check(3, "key", "a"); d.Allowed {
		t.Errorf("let through before its time: %+v", d)
	}
	b.nowUs++
	if d := b.check(3, "key", "a"); !d.Allowed {
		t.Errorf("not let through in its time: %+v", d)
	}
}

func TestADenialConsumesNothing(t *testing.T) {
	b := newBench(t)
	b.check(2, "key", "a", "path", "/slow", "user", "u")
	before := b.check(0, "key", "a", "path", "/slow", "user", "u")
	d := b.check(1, "key", "a", "path", "/slow", "user", "u")
	if d.Allowed || d.Rule != "path" || len(d.Limits) != 4 {
		t.Fatalf("got %+v", d)
	}
	after := b.check(0, "key", "a", "path", "/slow", "user", "u")
	for i := range before.Limits {
		if before.Limits[i] != after.Limits[i] {
			t.Errorf("%s changed from %+v to %+v", before.Limits[i].Rule, before.Limits[i], after.Limits[i])
		}
	}
}

func TestACostThatNeverFits(t *testing.T) {
	for _, cost := range []int64{13, MaxCost} {
		d := newBench(t).check(cost, "key", "a")
		if d.Allowed || d.Reason != ReasonCostExceedsLimit || d.RetryAfter != 0 {
			t.Errorf("cost %d: got %+v", cost, d)
		}
	}
	if d := newBench(t).check(6, "user", "u"); d.Allowed || d.Reason != ReasonCostExceedsLimit || d.Rule != "daily" {
		t.Errorf("quota: got %+v", d)
	}
}

func TestAQuotaCountsWhatIsKnownElsewhere(t *testing.T) {
	b := newBench(t)
	b.ledger.elsewhere = 3
	if d := b.check(2, "user", "u"); !d.Allowed || d.Remaining != 0 {
		t.Errorf("got %+v", d)
	}
	d := b.check(1, "user", "u")
	if d.Allowed || d.Reason != ReasonQuotaExhausted || d.RetryAfter != 12*time.Hour || d.Reset != (noon/1e6)+12*3600 {
		t.Errorf("got %+v", d)
	}
	last := b.ledger.recorded[len(b.ledger.recorded)-1]
	if last.Entry.Taken != 2 || last.Row.Rule != "daily" || last.Row.Key != "u" {
		t.Errorf("recorded %+v", last)
	}
}

func TestAQuotaThatCannotBeCountedIsDenied(t *testing.T) {
	b := newBench(t)
	b.ledger.full = true
	d := b.check(1, "user", "u", "key", "k")
	if d.Allowed || d.Reason != ReasonCapacity || d.Rule != "daily" || d.RetryAfter == 0 || b.engine.Full() != 1 {
		t.Errorf("got %+v, %d met a full store", d, b.engine.Full())
	}
	b.ledger.full = false
	for _, l := range b.check(0, "user", "u", "key", "k").Limits {
		if l.Remaining != l.Burst {
			t.Errorf("%s was charged: %+v", l.Rule, l)
		}
	}
}

// TestARefusedQuotaStaysRefused: the store wants another period, in which there
// would be room. The costs are gone by then, so nothing may be allowed.
func TestARefusedQuotaStaysRefused(t *testing.T) {
	nodeUs, storeUs := int64(noon), int64(noon+86_400_000_000)
	ledger := &recorder{full: true}
	s := &scripted{Store: embedded.New(embedded.Options{Now: func() int64 { return storeUs }})}
	s.script = []func(*store.Call){func(c *store.Call) {
		ledger.full = false
		s.Store.Decide(context.Background(), []*store.Call{c})
	}}
	e := newEngine(t, s, ledger, func() time.Time { return time.UnixMicro(nodeUs) })
	if d := e.Check(context.Background(), ask(1, "user", "u")); d.Allowed || d.Reason != ReasonCapacity || len(s.asked) != 2 {
		t.Errorf("got %+v after %d asks", d, len(s.asked))
	}
}

// TestAnEditedRuleKeepsItsQuota: what else a rule says does not change under
// which name its quota is counted.
func TestAnEditedRuleKeepsItsQuota(t *testing.T) {
	b := newBench(t)
	b.check(3, "user", "u")
	edited, err := rule.Parse("rules.yaml", []byte("rules: [{name: daily, count_by: [user], limit: 9/s, quota: 5/day}]"))
	if err != nil {
		t.Fatal(err)
	}
	b.engine.rules.Store(edited)
	if d := b.check(0, "user", "u"); d.Limits[1].Remaining != 2 {
		t.Errorf("got %+v", d)
	}
}

func TestBatchDecidesEachOnItsOwn(t *testing.T) {
	b := newBench(t)
	got := b.engine.CheckBatch(context.Background(), []Request{*ask(10, "key", "a"), *ask(1, "key", "a"), *ask(1, "nobody", "x"), *ask(1, "key", "b")})
	for i, want := range []bool{true, false, true, true} {
		if got[i].Allowed != want {
			t.Errorf("request %d: got %+v", i, got[i])
		}
	}
}

func TestTogetherNoneIsChargedIfOneIsDenied(t *testing.T) {
	b := newBench(t)
	b.check(10, "key", "full")
	got := b.engine.CheckTogether(context.Background(), []Request{*ask(1, "key", "full"), *ask(1, "key", "free"), *ask(1, "nobody", "x")})
	for i, want := range []bool{false, true, true} {
		if got[i].Allowed != want {
			t.Errorf("request %d: got %+v", i, got[i])
		}
	}
	if d := b.check(0, "key", "free"); d.Remaining != d.Burst {
		t.Errorf("the other was charged: %+v", d)
	}
}

func TestTogetherTheSameKeyCountsTwice(t *testing.T) {
	b := newBench(t)
	got := b.engine.CheckTogether(context.Background(), []Request{*ask(4, "key", "a"), *ask(5, "key", "a"), *ask(2, "user", "u"), *ask(3, "user", "u")})
	for i := range got {
		if !got[i].Allowed {
			t.Errorf("request %d: got %+v", i, got[i])
		}
	}
	if d := b.check(0, "key", "a"); d.Remaining != 1 {
		t.Errorf("bucket: %+v", d)
	}
	if d := b.check(0, "user", "u"); d.Remaining != 0 {
		t.Errorf("quota: %+v", d)
	}
}

// scripted is a store that answers by a script, then as the embedded one.
type scripted struct {
	*embedded.Store
	script []func(*store.Call)
	asked  []store.RowName
}

func (s *scripted) Decide(ctx context.Context, calls []*store.Call) {
	for _, c := range calls {
		for _, q := range c.Quotas {
			s.asked = append(s.asked, q.Row)
		}
	}
	if len(s.script) == 0 {
		s.Store.Decide(ctx, calls)
		return
	}
	step := s.script[0]
	s.script = s.script[1:]
	for _, c := range calls {
		step(c)
	}
}

func TestThePeriodIsTheStores(t *testing.T) {
	nodeUs, storeUs := int64(noon), int64(noon+86_400_000_000)
	s := &scripted{Store: embedded.New(embedded.Options{Now: func() int64 { return storeUs }})}
	e := newEngine(t, s, new(recorder), func() time.Time { return time.UnixMicro(nodeUs) })
	d := e.Check(context.Background(), ask(1, "user", "u"))
	if !d.Allowed || d.Reset != storeUs/1e6+12*3600 {
		t.Errorf("got %+v", d)
	}
	if len(s.asked) != 2 || s.asked[1].Start != s.asked[0].End {
		t.Errorf("asked for %+v", s.asked)
	}
}

func TestAnotherReignIsAskedAnew(t *testing.T) {
	s := &scripted{Store: embedded.New(embedded.Options{Now: func() int64 { return noon }}),
		script: []func(*store.Call){func(c *store.Call) { c.Status = store.WrongReign }}}
	e := newEngine(t, s, new(recorder), func() time.Time { return time.UnixMicro(noon) })
	if d := e.Check(context.Background(), ask(1, "user", "u")); !d.Allowed || d.Remaining != 4 {
		t.Errorf("got %+v", d)
	}
}

func TestAStoreThatFailsIsNeverAnAllow(t *testing.T) {
	fail := func(c *store.Call) { c.Status, c.Err = store.Failed, errors.Join(store.ErrUnavailable) }
	again := func(c *store.Call) { c.Status = store.WrongReign }
	for name, script := range map[string][]func(*store.Call){
		"fails":                 {fail},
		"never knows its reign": {again, again, again},
	} {
		s := &scripted{Store: embedded.New(embedded.Options{}), script: script}
		ledger := new(recorder)
		e := newEngine(t, s, ledger, time.Now)
		d := e.Check(context.Background(), ask(1, "user", "u", "key", "k"))
		if d.Allowed || d.DecidedBy != DecidedByClosed || d.Reason != ReasonStoreUnavailable || d.RetryAfter == 0 {
			t.Errorf("%s: got %+v", name, d)
		}
		if len(ledger.recorded) > 0 {
			t.Errorf("%s: recorded %+v", name, ledger.recorded)
		}
	}
}

func TestPlansKeepNothingOfARequest(t *testing.T) {
	b := newBench(t)
	b.check(1, "user", "secret", "key", "secret")
	p := b.engine.plan()
	for _, part := range p.parts[:cap(p.parts)] {
		if part.key != "" {
			t.Errorf("a pooled plan still holds %q", part.key)
		}
	}
}
