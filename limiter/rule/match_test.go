package rule

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Few words, so that rules and requests meet often, and more attributes than
// an index looks up.
var (
	someAttributes = []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"}
	someValues     = []string{"", "1", "2", "3", ","}
)

func drawRule(i int) *rapid.Generator[Rule] {
	return rapid.Custom(func(t *rapid.T) Rule {
		r := Rule{Name: fmt.Sprintf("r%d", i)}
		for _, a := range rapid.SliceOfNDistinct(rapid.SampledFrom(someAttributes), 0, 3, rapid.ID[string]).Draw(t, "match") {
			values := rapid.SliceOfNDistinct(rapid.SampledFrom(someValues), 1, 3, rapid.ID[string]).Draw(t, "values")
			r.Match = append(r.Match, Matcher{a, values})
		}
		r.CountBy = rapid.SliceOfNDistinct(rapid.SampledFrom(someAttributes), 0, 2, rapid.ID[string]).Draw(t, "count by")
		return r
	})
}

func drawRules(t *rapid.T) []Rule {
	rules := make([]Rule, rapid.IntRange(0, 30).Draw(t, "rules"))
	for i := range rules {
		rules[i] = drawRule(i).Draw(t, "rule")
	}
	return rules
}

// matchesNaively is the definition of a match, written again.
func matchesNaively(rules []Rule, attrs Attributes) (names []string) {
	for _, r := range rules {
		yes := true
		for _, m := range r.Match {
			v, ok := attrs[m.Attribute]
			yes = yes && ok && slices.Contains(m.Values, v)
		}
		for _, a := range r.CountBy {
			_, ok := attrs[a]
			yes = yes && ok
		}
		if yes {
			names = append(names, r.Name)
		}
	}
	return names
}

func namesOf(rules []*Rule) (names []string) {
	for _, r := range rules {
		names = append(names, r.Name)
	}
	return names
}

func TestMatchEqualsNaiveScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := drawRules(t)
		set, plain := NewSet(rules), &Set{Rules: rules}
		for range 20 {
			attrs := Attributes(rapid.MapOfN(rapid.SampledFrom(someAttributes), rapid.SampledFrom(someValues), 0, 9).Draw(t, "request"))
			want := matchesNaively(rules, attrs)
			if got := namesOf(set.Match(attrs, nil)); !slices.Equal(got, want) {
				t.Fatalf("indexed: got %v, want %v", got, want)
			}
			if got := namesOf(plain.Match(attrs, nil)); !slices.Equal(got, want) {
				t.Fatalf("not indexed: got %v, want %v", got, want)
			}
		}
	})
}

func TestMatchAppends(t *testing.T) {
	set := NewSet([]Rule{{Name: "a"}, {Name: "b", Match: []Matcher{{"m", []string{"x", "y"}}}}})
	kept := &Rule{Name: "kept"}
	got := set.Match(Attributes{"m": "y"}, []*Rule{kept})
	if want := []string{"kept", "a", "b"}; !slices.Equal(namesOf(got), want) {
		t.Errorf("got %v, want %v", namesOf(got), want)
	}
	if got[1] != &set.Rules[0] || set.Rule("b") != got[2] || set.Rule("c") != nil {
		t.Error("rules are not those of the set")
	}
}

// thousand is a set as a large API has: a rule for each path and method, and a
// few for everybody.
func thousand() *Set {
	var rules []Rule
	for i := range 997 {
		rules = append(rules, Rule{Name: fmt.Sprintf("path-%d", i), CountBy: []string{"api_key"},
			Match: []Matcher{{"method", []string{"GET", "HEAD"}}, {"path", []string{fmt.Sprintf("/v1/%d", i)}}}})
	}
	for _, by := range []string{"api_key", "ip", "tenant"} {
		rules = append(rules, Rule{Name: by, CountBy: []string{by}})
	}
	return NewSet(rules)
}

var request = Attributes{"api_key": "sk_live_abc", "ip": "198.18.0.7", "method": "GET", "path": "/v1/500", "user_agent": "curl"}

func TestMatchAllocatesNothing(t *testing.T) {
	set, room := thousand(), make([]*Rule, 0, 8)
	allocs := testing.AllocsPerRun(100, func() { room = set.Match(request, room[:0]) })
	if allocs != 0 || !slices.Equal(namesOf(room), []string{"path-500", "api_key", "ip"}) {
		t.Errorf("%v allocations; %v", allocs, namesOf(room))
	}
}

func BenchmarkMatchThousandRules(b *testing.B) {
	set, room := thousand(), make([]*Rule, 0, 8)
	b.ReportAllocs()
	for b.Loop() {
		room = set.Match(request, room[:0])
	}
}

func TestKeyIsInjective(t *testing.T) {
	value := rapid.StringOfN(rapid.SampledFrom([]rune{',', '\\', 'a'}), 0, 4, -1)
	rapid.Check(t, func(t *rapid.T) {
		r := Rule{CountBy: someAttributes[:rapid.IntRange(1, 4).Draw(t, "attributes")]}
		x, y := Attributes{}, Attributes{}
		same := true
		for _, a := range r.CountBy {
			x[a], y[a] = value.Draw(t, "x"), value.Draw(t, "y")
			same = same && x[a] == y[a]
		}
		if (r.Key(x) == r.Key(y)) != same {
			t.Fatalf("%v and %v have keys %q and %q", x, y, r.Key(x), r.Key(y))
		}
	})
}

func TestKeyAndSubject(t *testing.T) {
	attrs := Attributes{"a": `x,y`, "b": `p\q`, "c": "plain"}
	for _, c := range []struct {
		by                 []string
		key, subject, with string
	}{
		{nil, "", "", "rule"},
		{[]string{"a"}, `x,y`, "a", `x\,y`},
		{[]string{"b"}, `p\q`, "b", `p\\q`},
		{[]string{"c", "a"}, `plain,x\,y`, "c", "plain"},
		{[]string{"a", "b", "c"}, `x\,y,p\\q,plain`, "a", `x\,y`},
	} {
		r := Rule{Name: "rule", CountBy: c.by}
		name, value := r.Subject(attrs)
		if r.Key(attrs) != c.key || name != c.subject || value != c.with {
			t.Errorf("%v: key %q, subject %q %q", c.by, r.Key(attrs), name, value)
		}
	}
}

func TestFingerprint(t *testing.T) {
	read := func(file string) string {
		set, err := Parse("rules.yaml", []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		return set.Fingerprint()
	}
	base := read("rules: [{name: a, match: {x: [1, 2], y: 3}, count_by: [p, q], limit: 60/m, quota: 5/day}]")
	if len(base) != 16 {
		t.Errorf("fingerprint %q", base)
	}
	for _, same := range []string{
		"# another layout\nrules:\n- quota: 5/day\n  name: 'a'\n  match: {y: 3, x: [2, 1]}\n  count_by: [p, q]\n  limit: 60/m\n",
		"rules: [{name: a, match: {x: [1, 2], y: 3}, count_by: [p, q], limit: 60/60s, burst: 60, quota: 5/day, overshoot: 1%, timezone: UTC, refundable: false}]",
	} {
		if read(same) != base {
			t.Errorf("differs: %s", same)
		}
	}
	for _, other := range []string{
		"rules: [{name: b, match: {x: [1, 2], y: 3}, count_by: [p, q], limit: 60/m, quota: 5/day}]",
		"rules: [{name: a, match: {x: [1, 2], y: 4}, count_by: [p, q], limit: 60/m, quota: 5/day}]",
		"rules: [{name: a, match: {x: [1, 2], y: 3}, count_by: [q, p], limit: 60/m, quota: 5/day}]",
		"rules: [{name: a, match: {x: [1, 2], y: 3}, count_by: [p, q], limit: 61/m, quota: 5/day}]",
		"rules: [{name: a, match: {x: [1, 2], y: 3}, count_by: [p, q], limit: 60/m, burst: 61, quota: 5/day}]",
		"rules: [{name: a, match: {x: [1, 2], y: 3}, count_by: [p, q], limit: 60/m, quota: 6/day}]",
		"rules: [{name: a, match: {x: [1, 2], y: 3}, count_by: [p, q], limit: 60/m}]",
	} {
		if read(other) == base {
			t.Errorf("is the same: %s", other)
		}
	}
}

func TestQuotaPeriod(t *testing.T) {
	for at, day := range map[string]string{
		"1970-01-01T00:00:00Z":           "1970-01-01",
		"1970-01-01T23:59:59.999999999Z": "1970-01-01",
		"1969-12-31T23:59:59.999999999Z": "1969-12-31",
		"1969-12-31T00:00:00Z":           "1969-12-31",
		"1900-02-28T12:00:00Z":           "1900-02-28",
		"2024-02-29T00:00:00Z":           "2024-02-29",
		"2024-02-29T23:59:59Z":           "2024-02-29",
		"2024-03-01T00:00:00Z":           "2024-03-01",
		"2026-12-31T23:59:59Z":           "2026-12-31",
		"2026-03-29T02:30:00+01:00":      "2026-03-29",
		"2026-11-01T23:30:00-07:00":      "2026-11-02",
	} {
		instant, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			t.Fatal(err)
		}
		want, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		start, end := Quota{}.Period(instant)
		if start != want.Unix() || end != want.AddDate(0, 0, 1).Unix() {
			t.Errorf("%s: [%v, %v)", at, time.Unix(start, 0).UTC(), time.Unix(end, 0).UTC())
		}
	}
}

func TestQuotaPeriodHoldsTheInstant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Int64Range(-1<<40, 1<<40).Draw(t, "at")
		start, end := Quota{}.Period(time.Unix(at, 0))
		if at < start || at >= end || end-start != 86400 || start%86400 != 0 {
			t.Fatalf("%d: [%d, %d)", at, start, end)
		}
	})
}
