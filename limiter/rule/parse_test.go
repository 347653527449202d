package rule

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"weir/limiter/bucket"
	"weir/limiter/document"
	"weir/limiter/document/golden"
)

func TestBadFiles(t *testing.T) {
	golden.Run(t, "testdata/bad.txt", func(t *testing.T, input string) string {
		set, err := Parse("rules.yaml", []byte(input))
		if err == nil || set != nil {
			t.Fatalf("accepted: %v", set)
		}
		return err.Error()
	})
}

func rate(t *testing.T, count int64, window time.Duration, burst int64) bucket.Rate {
	t.Helper()
	r, err := bucket.NewRate(count, window, burst)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestGoodFile(t *testing.T) {
	const file = `
# Comments are fine.
rules:
  - name: settlements
    match: {method: [POST], path: /v1/charges, version: 2, flag: true, empty: ""}
    count_by: [api_key]
    limit: 100/s
    burst: 500
  - name: "both"
    count_by: header:X-Tenant
    limit: '5/10s'
    quota: 1e5/day
    overshoot: unbounded
  - {name: 7, limit: 2.5e3/day}
  - {name: all.of-it_, match: {ip: "2001:db8::1"}, limit: 3/90m, burst: 1e3}
`
	set, err := Parse("rules.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	want := []Rule{
		{Name: "settlements", CountBy: []string{"api_key"}, Match: []Matcher{{"method", []string{"POST"}}, {"path", []string{"/v1/charges"}},
			{"version", []string{"2"}}, {"flag", []string{"true"}}, {"empty", []string{""}}},
			Limits: []Limit{{Bucket: rate(t, 100, time.Second, 500)}}},
		{Name: "both", CountBy: []string{"header:X-Tenant"},
			Limits: []Limit{{Bucket: rate(t, 5, 10*time.Second, 5)}, {Quota: &Quota{Limit: 100_000, Overshoot: Overshoot{Unbounded: true}}}}},
		{Name: "7", Limits: []Limit{{Bucket: rate(t, 2500, 24*time.Hour, 2500)}}},
		{Name: "all.of-it_", Match: []Matcher{{"ip", []string{"2001:db8::1"}}}, Limits: []Limit{{Bucket: rate(t, 3, 90*time.Minute, 1000)}}},
	}
	if !reflect.DeepEqual(set.Rules, want) {
		t.Errorf("got  %+v\nwant %+v", set.Rules, want)
	}
}

func TestParseLimit(t *testing.T) {
	for text, window := range map[string]time.Duration{
		"1/ms": time.Millisecond, "1/s": time.Second, "1/m": time.Minute, "1/h": time.Hour,
		"1/day": 24 * time.Hour, "1/week": 7 * 24 * time.Hour, "1/250ms": 250 * time.Millisecond, "1/30day": 720 * time.Hour,
	} {
		if count, got, err := parseLimit(text); err != nil || count != 1 || got != window {
			t.Errorf("%s: %d per %v, %v", text, count, got, err)
		}
	}
}

func TestTooManyRules(t *testing.T) {
	file := func(n int) []byte {
		var b strings.Builder
		b.WriteString("rules:\n")
		for i := range n {
			fmt.Fprintf(&b, "- name: r%d\n  match: {path: /%d}\n  count_by: ip\n  limit: 100/s\n", i, i)
		}
		return []byte(b.String())
	}
	began := time.Now()
	set, err := Parse("rules.yaml", file(MaxRules))
	if err != nil || len(set.Rules) != MaxRules {
		t.Fatal(err)
	}
	t.Logf("%d rules read in %v", MaxRules, time.Since(began))
	_, err = Parse("rules.yaml", file(MaxRules+1))
	if err == nil || err.Error() != "rules.yaml:2:1: rules: has 10001 rules; the most is 10000" {
		t.Errorf("got %v", err)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	file := "rules:\n" + strings.Repeat("- {}\n", 50)
	_, err := Parse("rules.yaml", []byte(file))
	var e *document.Error
	if !errors.As(err, &e) || len(e.Problems) != document.MaxProblems || e.More != 30 {
		t.Fatalf("got %v", err)
	}
	if !strings.HasSuffix(err.Error(), "\nand 30 more") {
		t.Errorf("got %v", err)
	}
}

func TestUnreachableByAttributes(t *testing.T) {
	var b strings.Builder
	b.WriteString("rules:\n- name: a\n  limit: 1/s\n  count_by: ip\n  match:\n")
	for i := range 64 {
		fmt.Fprintf(&b, "    a%d: x\n", i)
	}
	_, err := Parse("rules.yaml", []byte(b.String()))
	if err == nil || !strings.Contains(err.Error(), "is unreachable: it needs 65 attributes, and a request has at most 64") {
		t.Errorf("got %v", err)
	}
}

func TestLongValue(t *testing.T) {
	for _, size := range []int{4096, 4097} {
		file := "rules: [{name: a, limit: 1/s, match: {path: /" + strings.Repeat("x", size-1) + "}}]"
		if _, err := Parse("rules.yaml", []byte(file)); (err != nil) != (size > 4096) {
			t.Errorf("%d bytes: %v", size, err)
		} else if err != nil && len(err.Error()) > 400 {
			t.Errorf("the message repeats the value: %d bytes", len(err.Error()))
		}
	}
}

func FuzzParse(f *testing.F) {
	paths, _ := filepath.Glob("../../region/demo/*.yaml")
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	bad, err := os.ReadFile("testdata/bad.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range strings.Split(string(bad), "=== ") {
		_, body, _ := strings.Cut(c, "\n")
		input, _, _ := strings.Cut(body, ">>>")
		f.Add([]byte(input))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := Parse("f", data)
		if (set == nil) == (err == nil) {
			t.Fatalf("set %v, error %v", set, err)
		}
		if err != nil {
			return
		}
		names := map[string]bool{}
		for i := range set.Rules {
			r := &set.Rules[i]
			if r.Name == "" || names[r.Name] || len(r.Limits) == 0 {
				t.Fatalf("accepted %+v", r)
			}
			names[r.Name] = true
			for _, l := range r.Limits {
				if l.Quota == nil && (l.Bucket.Count < 1 || l.Bucket.Burst < 1) || l.Quota != nil && !sound(l.Quota) {
					t.Fatalf("accepted %+v", r)
				}
			}
		}
	})
}

// sound says whether a quota can be counted.
func sound(q *Quota) bool {
	const now = 1_800_000_000
	start, end := q.Period(time.Unix(now, 0))
	total := q.Overshoot.Total(q.Limit)
	return q.Limit >= 1 && total >= q.Limit && total <= maxQuota && start <= now && now < end
}
