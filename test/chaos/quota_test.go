package chaos

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// quota is a rule with a global limit, counted by the attribute of its name.
type quota struct {
	name, unit, overshoot string
	limit                 int64
	over                  int64 // units by which it may be passed
	unbounded             bool  // by as much as the regions like
}

// quotas: one too large to deny counts every check exactly. The others are used
// up within seconds, one key after another, and denials must count nothing. Of
// minute the periods end within a run. hot is asked for so often at one node
// that it takes units ahead.
var quotas = []quota{
	{name: "daily", limit: 1_000_000_000, unit: "day", overshoot: "1%", over: 10_000_000},
	{name: "strict", limit: 400, unit: "day", overshoot: "0"},
	{name: "tight", limit: 400, unit: "day", overshoot: "1%", over: 4},
	{name: "wide", limit: 400, unit: "day", overshoot: "20%", over: 80},
	{name: "loose", limit: 400, unit: "day", overshoot: "unbounded", unbounded: true},
	{name: "minute", limit: 1200, unit: "m", overshoot: "0"},
	{name: "hot", limit: 4000, unit: "day", overshoot: "1%", over: 40},
}

func quotaOf(rule string) quota {
	i := slices.IndexFunc(quotas, func(q quota) bool { return q.name == rule })
	if i < 0 {
		return quota{} // a bucket, or nothing that the clients know
	}
	return quotas[i]
}

// rules are the rules file.
func rules() string {
	var b strings.Builder
	b.WriteString("rules:\n")
	for _, q := range quotas {
		fmt.Fprintf(&b, "  - {name: %s, count_by: [%s], quota: %d/%s, overshoot: %s}\n", q.name, q.name, q.limit, q.unit, q.overshoot)
	}
	b.WriteString("  - {name: per-user, count_by: [user], limit: 20/s}\n")
	return b.String()
}

// bound is what all regions together may let through, if it is bounded.
func (q quota) bound() int64 { return q.limit + q.over }

// share is what a region may let through by itself at first: all have the same
// weight, and what does not divide goes to the first in order of name.
func (q quota) share(region string, regions []string) int64 {
	each, rest := q.bound()/int64(len(regions)), q.bound()%int64(len(regions))
	if int64(slices.Index(slices.Sorted(slices.Values(regions)), region)) < rest {
		each++
	}
	return each
}

// period is how long the quota's periods are.
func (q quota) period() time.Duration {
	if q.unit == "m" {
		return time.Minute
	}
	return 24 * time.Hour
}

// ends are the ends of the periods that a call between two instants may have
// been counted in, in Unix seconds.
func (q quota) ends(from, to time.Time) []int64 {
	first, last := q.end(from), q.end(to)
	if first == last {
		return []int64{first}
	}
	return []int64{first, last}
}

// end is the end of the period that an instant is in: they begin with full
// minutes and days of UTC.
func (q quota) end(at time.Time) int64 { return at.Truncate(q.period()).Add(q.period()).Unix() }

// pot is one key of a quota in one period: what regions share.
type pot struct {
	rule, key string
	end       int64 // of the period, Unix seconds
}

func (p pot) String() string {
	if quotaOf(p.rule).unit != "m" {
		return p.rule + "/" + p.key
	}
	return fmt.Sprintf("%s/%s until %s", p.rule, p.key, time.Unix(p.end, 0).UTC().Format("15:04"))
}

// ended says whether the period is over.
func (p pot) ended(now time.Time) bool { return now.Unix() >= p.end }

// counted is a region's part of a pot: what clients of that region used.
type counted struct {
	pot
	region string
}

func (c counted) String() string { return c.pot.String() + " by " + c.region }

func comparePots(a, b pot) int {
	if n := strings.Compare(a.rule+"/"+a.key, b.rule+"/"+b.key); n != 0 {
		return n
	}
	return int(a.end - b.end)
}

func TestQuotasAreSplitAndEnd(t *testing.T) {
	regions := []string{"us", "eu", "ap"}
	q := quota{limit: 100, over: 1, unit: "m"}
	if got := []int64{q.share("ap", regions), q.share("eu", regions), q.share("us", regions)}; !slices.Equal(got, []int64{34, 34, 33}) {
		t.Errorf("shares %v, want 34 34 33", got)
	}
	at := time.Date(2026, 3, 1, 12, 0, 59, 9e8, time.UTC)
	end := time.Date(2026, 3, 1, 12, 1, 0, 0, time.UTC).Unix()
	if got := q.ends(at, at.Add(50*time.Millisecond)); !slices.Equal(got, []int64{end}) {
		t.Errorf("within a minute: %v, want %d", got, end)
	}
	if got := q.ends(at, at.Add(time.Second)); !slices.Equal(got, []int64{end, end + 60}) {
		t.Errorf("over its end: %v, want %d and the next", got, end)
	}
}
