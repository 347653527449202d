package document

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

func TestParseInt(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "7": 7, "+7": 7, "-7": -7, "007": 7, "1e6": 1_000_000, "1E6": 1_000_000, "1e+6": 1_000_000, "2.5e3": 2500, "1.0": 1, "-1.50e2": -150,
		"9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64, "9.223372036854775807e18": math.MaxInt64,
	} {
		if got, err := ParseInt(text); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", " 1", "1 ", "x", "1.5", "1e-1", "0x10", "1_000", "1,000", "1e", ".5", "1.", "1e999", "9223372036854775808", "--1", "1/s", "inf"} {
		if got, err := ParseInt(text); err == nil {
			t.Errorf("%s: %d", text, got)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0s": 0, "500ms": 500 * time.Millisecond, "10s": 10 * time.Second, "90m": 90 * time.Minute, "24h": 24 * time.Hour,
		"1day": 24 * time.Hour, "2week": 14 * 24 * time.Hour, "106751day": 106751 * 24 * time.Hour,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":           "not a duration; write a whole number and one of ms s m h day week, such as 10s",
		"10":         "not a duration; write a whole number and one of ms s m h day week, such as 10s",
		"-1s":        "not a duration; write a whole number and one of ms s m h day week, such as 10s",
		"1.5s":       "not a duration; write a whole number and one of ms s m h day week, such as 10s",
		"1m30s":      "not a duration; write a whole number and one of ms s m h day week, such as 10s",
		"10sec":      `unknown unit "sec" (did you mean s?); write a whole number and one of ms s m h day week, such as 10s`,
		"1month":     `unknown unit "month"; write a whole number and one of ms s m h day week, such as 10s`,
		"106752day":  "too long; the most is 106751day",
		"99999week9": "not a duration; write a whole number and one of ms s m h day week, such as 10s",
	} {
		if got, err := ParseDuration(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

func TestTypedValues(t *testing.T) {
	var problems Problems
	root, ok := Parse("f", []byte("int: 1e3\nquoted: \"5\"\nbool: true\nduration: 2h\nbad int: x\nbad bool: yes\nlist: [1]\nnothing:\n"), &problems)
	if !ok {
		t.Fatal(problems.Err())
	}
	v, _ := root.Fields(Fields{Known: []string{"int", "quoted", "bool", "duration", "bad int", "bad bool", "list", "nothing"}})
	if n, ok := v["int"].Int(); !ok || n != 1000 {
		t.Error(n, ok)
	}
	if n, ok := v["quoted"].Int(); !ok || n != 5 {
		t.Error(n, ok)
	}
	if b, ok := v["bool"].Bool(); !ok || !b {
		t.Error(b, ok)
	}
	if d, ok := v["duration"].Duration(); !ok || d != 2*time.Hour {
		t.Error(d, ok)
	}
	v["bad int"].Int()
	v["bad bool"].Bool()
	v["list"].Int()
	v["nothing"].Int()
	want := strings.Join([]string{
		`f:5:10: "bad int": "x": not a whole number; write one such as 1000 or 1e6`,
		`f:6:11: "bad bool": "yes": write true or false`,
		`f:7:7: list: is a list; write a single value`,
		`f:8:10: nothing: is empty; write a value, or remove the field`,
	}, "\n")
	if err := problems.Err(); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestFields(t *testing.T) {
	var problems Problems
	root, _ := Parse("f", []byte("limit: 1\nlimti: 2\nCount-By: 3\nmode: off\nzebra: 1\n"), &problems)
	known, all := root.Fields(Fields{Known: []string{"limit", "count_by"}, Later: []string{"mode"}})
	if all || len(known) != 1 || place(known["limit"]) != "f:1:8" || known["limit"].Path() != "limit" {
		t.Error(known, all)
	}
	want := strings.Join([]string{
		`f:2:1: limti: unknown field; did you mean limit?`,
		`f:3:1: Count-By: unknown field; did you mean count_by?`,
		`f:4:1: mode: not implemented in this version; remove it`,
		`f:5:1: zebra: unknown field; the fields are count_by, limit`,
	}, "\n")
	if err := problems.Err(); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func place(v Value) string {
	file, line, column := v.Place()
	return fmt.Sprintf("%s:%d:%d", file, line, column)
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"limit", "limit", 0}, {"limti", "limit", 1}, {"limt", "limit", 1}, {"quota", "cost", 4}, {"ca", "abc", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestQuote(t *testing.T) {
	if got := Quote("a\n"); got != `"a\n"` {
		t.Error(got)
	}
	if got := Quote(strings.Repeat("é", 80)); got != `"`+strings.Repeat("é", 50)+`"…` {
		t.Error(got)
	}
}

func TestProblemOrder(t *testing.T) {
	var p Problems
	for _, problem := range []Problem{{Field: "WEIR_X", Reason: "4"}, {File: "f", Line: 2, Column: 1, Reason: "3"}, {File: "f", Line: 1, Column: 9, Reason: "2"}, {File: "f", Reason: "1"}, {Field: "--x", Reason: "5"}} {
		p.Add(problem)
	}
	if got, want := p.Err().Error(), "f: 1\nf:1:9: 2\nf:2:1: 3\nWEIR_X: 4\n--x: 5"; got != want {
		t.Errorf("got\n%s", got)
	}
}
