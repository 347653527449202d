package chaos

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// panel is one diagram over time.
type panel struct {
	title string
	top   float64 // value at its upper edge; 0 is at the lower
	unit  string
	marks []mark
	lines []line
	areas []line // one upon another: each is the sum up to it, the highest first
}

// mark is a value with a name, drawn across the panel.
type mark struct {
	at   float64
	name string
}

// line is a course with a name.
type line struct {
	name, color string
	steps       bool // the value lasts until the next
	hidden      bool // from the legend
	at          []time.Duration
	values      []float64
}

func (l *line) add(at time.Duration, value float64) {
	l.at, l.values = append(l.at, at), append(l.values, value)
}

// panels are those of a run, from the top.
func (d *drawn) panels() (all []panel) {
	for _, q := range quotas {
		if q.name != "daily" {
			all = append(all, d.quotaPanel(q))
		}
	}
	return append(all, d.denials(), d.staleness())
}

// quotaPanel shows what was allowed of each key in each period, as a part of
// the quota.
func (d *drawn) quotaPanel(q quota) panel {
	p := panel{title: fmt.Sprintf("%s: allowed of each key, in parts of the quota of %d/%s (overshoot %s)", q.name, q.limit, q.unit, q.overshoot),
		top: 1.15, marks: []mark{{1, "quota"}}}
	if q.over > 0 {
		p.marks = append(p.marks, mark{float64(q.bound()) / float64(q.limit), "and overshoot"})
	}
	pots := slices.SortedFunc(maps.Keys(d.uses), comparePots)
	for i, key := range pots {
		use := d.uses[key]
		if key.rule != q.name || len(use.course) == 0 {
			continue
		}
		l := line{name: key.String(), color: colors[i%len(colors)], steps: true, hidden: true}
		l.add(use.course[0].at.Sub(d.began), 0)
		for _, a := range use.course {
			value := float64(a.units) / float64(q.limit)
			l.add(a.at.Sub(d.began), value)
			p.top = max(p.top, 1.1*value)
		}
		p.lines = append(p.lines, l)
	}
	p.top = max(p.top, 1.1*p.marks[len(p.marks)-1].at)
	return p
}

// denials shows how many calls a second were not allowed, by reason.
func (d *drawn) denials() panel {
	reasons := map[string]bool{}
	for _, s := range d.seconds {
		for what := range s.answers {
			reasons[what] = true
		}
	}
	delete(reasons, answerAllowed)
	delete(reasons, answerLease)
	p := panel{title: "not allowed, in calls a second, by reason, one upon another", top: 1}
	sums := make([]float64, len(d.seconds))
	for i, reason := range slices.Sorted(maps.Keys(reasons)) {
		l := line{name: reason, color: colors[i%len(colors)], steps: true}
		for j, s := range d.seconds {
			sums[j] += float64(s.answers[reason])
			l.add(time.Duration(j)*time.Second, sums[j])
			p.top = max(p.top, 1.1*sums[j])
		}
		p.areas = append(p.areas, l)
	}
	slices.Reverse(p.areas)
	return p
}

// maxStale is where staleness leaves the panel.
const maxStale = 20 * time.Second

// staleness shows how old the news of each region was where it was oldest.
func (d *drawn) staleness() panel {
	p := panel{title: "age of the news of a region at the node of another that heard least", top: maxStale.Seconds(), unit: " s",
		marks: []mark{{2, "behind"}, {10, "cut off"}}}
	for i, region := range d.regions {
		l := line{name: region, color: colors[i]}
		for j, s := range d.seconds {
			if age, seen := s.stale[region]; seen {
				l.add(time.Duration(j)*time.Second, min(age, maxStale).Seconds())
			}
		}
		p.lines = append(p.lines, l)
	}
	return p
}

// panel draws one below the last.
func (c *canvas) panel(p panel) {
	c.top += panelGap
	bottom, right := c.top+panelHeight, leftMargin+c.width
	y := func(value float64) float64 { return bottom - panelHeight*min(value, p.top)/p.top }
	c.say(`<text x="%d" y="%.1f" font-weight="bold">%s</text>`, leftMargin, c.top-7, escape(p.title))
	for _, a := range p.areas {
		c.say(`<polygon fill="%s" points="%.1f,%.1f %s %.1f,%.1f"/>`, a.color, c.x(a.at[0]), bottom, c.points(a, y), c.x(a.at[len(a.at)-1]), bottom)
	}
	for step, i := spacing(p.top), 0; float64(i)*step <= p.top; i++ {
		value := step * float64(i)
		c.say(`<line x1="%d" x2="%.1f" y1="%.1f" y2="%.1f" stroke="#00000022"/>`, leftMargin, right, y(value), y(value))
		c.say(`<text x="%d" y="%.1f" text-anchor="end" fill="#555">%.4g%s</text>`, leftMargin-6, y(value)+4, value, p.unit)
	}
	for _, l := range p.lines {
		c.say(`<polyline fill="none" stroke="%s" stroke-width="1.4" points="%s"><title>%s</title></polyline>`, l.color, c.points(l, y), escape(l.name))
	}
	for i, m := range p.marks {
		c.say(`<line x1="%d" x2="%.1f" y1="%.1f" y2="%.1f" stroke="#b00020" stroke-dasharray="5 3"/>`, leftMargin, right, y(m.at), y(m.at))
		c.say(`<text x="%.1f" y="%.1f" fill="#b00020">%s</text>`, right+4, y(m.at)+4-float64(7*i), m.name)
	}
	c.legend(p, right)
	c.axis(bottom)
	c.top = bottom
}

// spacing is a round number of which two to five make the whole.
func spacing(whole float64) float64 {
	step := math.Pow(10, math.Floor(math.Log10(whole)))
	for _, part := range []float64{5, 2} {
		if whole/(step/part) <= 5 {
			return step / part
		}
	}
	return step
}

func (c *canvas) points(l line, y func(float64) float64) string {
	var b strings.Builder
	for i, at := range l.at {
		fmt.Fprintf(&b, "%.1f,%.1f ", c.x(at), y(l.values[i]))
		if l.steps && i+1 < len(l.at) {
			fmt.Fprintf(&b, "%.1f,%.1f ", c.x(l.at[i+1]), y(l.values[i]))
		}
	}
	return strings.TrimSpace(b.String())
}

func (c *canvas) legend(p panel, right float64) {
	y := c.top + 12
	for _, l := range slices.Concat(p.areas, p.lines) {
		if l.hidden {
			continue
		}
		c.say(`<rect x="%.1f" y="%.1f" width="10" height="10" fill="%s"/><text x="%.1f" y="%.1f">%s</text>`, right+60, y-9, l.color, right+74, y, escape(l.name))
		y += 14
	}
}

// axis names the time, at most every ten seconds.
func (c *canvas) axis(bottom float64) {
	every := 10 * time.Second
	for c.lasted/every > 30 {
		every *= 2
	}
	for at := time.Duration(0); at <= c.lasted; at += every {
		c.say(`<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="#888"/>`, c.x(at), c.x(at), bottom, bottom+4)
		c.say(`<text x="%.1f" y="%.1f" text-anchor="middle" fill="#555">%.0f s</text>`, c.x(at), bottom+15, at.Seconds())
	}
}
