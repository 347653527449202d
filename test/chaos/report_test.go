package chaos

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// reportPath is CHAOS_REPORT, or bin/chaos-report.md where bin is, or a file
// among the temporary ones.
func reportPath() string {
	if path := os.Getenv("CHAOS_REPORT"); path != "" {
		return path
	}
	const bin = "../../bin"
	if _, err := os.Stat(bin); err == nil {
		return filepath.Join(bin, "chaos-report.md")
	}
	return filepath.Join(os.TempDir(), "chaos-report.md")
}

// report is the run for a person to read, in Markdown.
func (c *course) report(picture string) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("# Three regions under faults\n")
	problems, excused := 0, 0
	for _, s := range c.steps {
		excused += s.excused
		problems += len(s.problems)
	}
	verdict := "Everything held."
	if problems > 0 {
		verdict = fmt.Sprintf("**%d problems**, see below.", problems)
	}
	looks, lag := c.monitor.summary()
	say("%s %d steps in %v, drawn from the seeds %v.", verdict, len(c.steps), time.Since(c.began).Round(time.Second), c.seeds)
	say("Each region has a Redis server and %d nodes, and %d clients that call all the time.\n", nodesPerRegion, clientsPerRegion+1)
	say("![What was allowed, denied and heard while faults lasted](%s)\n", picture)
	c.reportSteps(say)
	c.reportClients(say)
	c.reportUnits(say)
	say("The longest that a region waited for rights while nothing was broken, and enough was\nleft beyond what others keep, and got them, was %v. %d waited over %v while the\nmachine was busy.\n", round(c.world.stalls.longestWait()), excused, stallTime)
	say("The nodes were read %d times meanwhile. In steps without a fault, what a region\nhad counted showed at all nodes of all regions within %v at most (read every %v).", looks, round(lag), monitorInterval)
	for _, s := range c.steps {
		for _, p := range s.problems {
			say("\n**Step %d, %s, %s**: %s", s.number, s.fault.name, s.fault.where, p)
		}
	}
	return b.String()
}

func (c *course) reportSteps(say func(string, ...any)) {
	say("## Steps\n")
	say("| # | seed | at | fault | where | lasted | cut off shown after | mended in | in touch after | equal under load after | exact after the last answer | may be forgotten | forgotten |")
	say("|--:|--:|--:|---|---|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, s := range c.steps {
		cutOff := "–"
		if s.cutOff > 0 {
			cutOff = round(s.cutOff)
		}
		say("| %d | %d | %s | %s | %s | %s | %s | %s | %s | %s | %s | %d | %d |", s.number, s.fault.seed, round(s.began), s.fault.name, strings.ReplaceAll(s.fault.where, "|", `\|`),
			round(s.held), cutOff, round(s.mended), round(s.touch), round(s.equal), round(s.exact), s.mayBeForgotten, s.forgotten)
	}
	say("\nTimes of mending include starting what was killed until it served; \"after\" counts")
	say("from then on. Forgotten are units that were allowed.\n")
}

func (c *course) reportClients(say func(string, ...any)) {
	say("## What clients met\n")
	head, rule := "| # |", "|--:|"
	for _, r := range c.world.regions {
		head += fmt.Sprintf(" %s admitted | denied | no store | failed | slowest | Redis slow |", r.name)
		rule += "--:|--:|--:|--:|--:|--:|"
	}
	say("%s\n%s", head, rule)
	for _, s := range c.steps {
		line := fmt.Sprintf("| %d |", s.number)
		for _, o := range s.regions {
			line += fmt.Sprintf(" %d | %d | %d | %d | %s | %d of %d |", o.allowed, o.denied, o.away, o.failed, round(o.latency), o.pulse.slow, o.pulse.asked)
		}
		say("%s", line)
	}
	answers := map[string]int{}
	for _, s := range c.world.timeline.copy() {
		for what, n := range s.answers {
			answers[what] += n
		}
	}
	say("\nIn all, by answer:\n")
	for _, what := range slices.Sorted(maps.Keys(answers)) {
		say("- %s: %d", what, answers[what])
	}
	say("\nNo store: denied because Redis did not answer within 50 ms. Redis slow: how often")
	say("the test itself, asking Redis every %v, waited over %v: then the machine was", pulseInterval, slowPulse)
	say("busy with other things.\n")
}

func (c *course) reportUnits(say func(string, ...any)) {
	say("## Units\n")
	say("| region | acknowledged | answer lost | shown by every node |")
	say("|---|--:|--:|--:|")
	for _, r := range c.world.regions {
		var shown int64
		for part, n := range c.shown {
			if part.region == r.name {
				shown += n
			}
		}
		sum := c.sums[r.name]
		say("| %s | %d | %d | %d |", r.name, sum.acknowledged, sum.unresolved, shown)
	}
	say("\nOf the periods that lasted at the end.\n")
	c.reportQuotas(say)
}

// reportQuotas tells how far each quota was used, and by what at most it was
// passed.
func (c *course) reportQuotas(say func(string, ...any)) {
	say("## Quotas\n")
	say("| rule | quota | overshoot | keys and periods | used up | passed, in steps without cost | most allowed | at a cost of faults | most beyond |")
	say("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
	uses := c.world.ledger.uses()
	for _, q := range quotas {
		var pots, full, passed, most, costly, beyond int64
		for p, u := range uses {
			if p.rule != q.name {
				continue
			}
			pots++
			if u.allowed+u.unresolved >= q.limit {
				full++
			}
			if u.granted > 0 {
				costly++
			} else if u.allowed > q.limit {
				passed++
			}
			most = max(most, u.allowed)
			beyond = max(beyond, u.allowed-q.bound())
		}
		say("| %s | %d/%s | %s | %d | %d | %d | %d | %d | %d |", q.name, q.limit, q.unit, q.overshoot, pots, full, passed, most, costly, beyond)
	}
	say("\nMost beyond is what was allowed beyond quota and overshoot together: only what faults")
	say("cost, and what no bound holds, may make it positive.\n")
}

func round(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
