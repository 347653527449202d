package region

import (
	"fmt"
	"strings"
	"time"

	"weir/limiter/rule"
	"weir/region/api"
)

// describe tells of the node what the dashboard shows.
func (n *Node) describe() api.Node {
	cfg := n.opts.Config
	out := api.Node{Node: cfg.Node, Region: cfg.Region, Version: n.opts.Version, Regions: cfg.RegionNames(), Restored: n.restoredFrom()}
	set := n.engine.Rules()
	for i := range set.Rules {
		out.Rules = append(out.Rules, describeRule(&set.Rules[i]))
	}
	return out
}

func describeRule(r *rule.Rule) api.NodeRule {
	out := api.NodeRule{Name: r.Name, Match: "every request", CountBy: r.CountBy}
	var matchers []string
	for _, m := range r.Match {
		matchers = append(matchers, m.Attribute+" "+strings.Join(m.Values, " or "))
	}
	if len(matchers) > 0 {
		out.Match = strings.Join(matchers, ", ")
	}
	for _, l := range r.Limits {
		out.Limits = append(out.Limits, describeLimit(l))
	}
	return out
}

func describeLimit(l rule.Limit) string {
	if l.Quota != nil {
		return fmt.Sprintf("%s, all regions together", l.Quota)
	}
	text := fmt.Sprintf("%d/%s", l.Bucket.Count, describeWindow(l.Bucket.Window))
	if l.Bucket.Burst != l.Bucket.Count {
		text += fmt.Sprintf(", burst %d", l.Bucket.Burst)
	}
	return text
}

func describeWindow(w time.Duration) string {
	if unit, ok := map[time.Duration]string{time.Millisecond: "ms", time.Second: "s", time.Minute: "m",
		time.Hour: "h", 24 * time.Hour: "day", 7 * 24 * time.Hour: "week"}[w]; ok {
		return unit
	}
	return w.String()
}
