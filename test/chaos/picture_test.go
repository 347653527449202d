package chaos

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// picture draws a run as SVG: panels over one axis of time, with the faults as
// bands behind all of them.
func (c *course) picture() string {
	run := drawn{uses: c.world.ledger.uses(), began: c.began, lasted: time.Since(c.began), seconds: c.world.timeline.copy()}
	for _, s := range c.steps {
		end := s.healed
		if end == 0 {
			end = s.began + s.held
		}
		run.bands = append(run.bands, band{from: s.began, to: end, calm: s.fault.calm,
			name: fmt.Sprintf("%d %s", s.number, s.fault.name), where: s.fault.where})
	}
	for _, r := range c.world.regions {
		run.regions = append(run.regions, r.name)
	}
	return run.svg()
}

// drawn is what a picture shows.
type drawn struct {
	began   time.Time
	lasted  time.Duration
	bands   []band
	regions []string
	uses    map[pot]use
	seconds []second
}

// band is a fault's time.
type band struct {
	from, to    time.Duration
	calm        bool
	name, where string
}

// Sizes in pixels.
const (
	leftMargin   = 70
	rightMargin  = 190
	headHeight   = 230 // names of faults, upright
	panelHeight  = 120
	panelGap     = 34
	leastWidth   = 900
	mostWidth    = 6000
	perSecond    = 6
	bottomMargin = 40
)

// colors are those of lines and areas, told apart by eyes that see red and green
// alike (Okabe and Ito).
var colors = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999", "#000000"}

// canvas is a picture in the making.
type canvas struct {
	strings.Builder
	width  float64 // of the panels
	lasted time.Duration
	top    float64 // of the next panel
}

func (d *drawn) svg() string {
	c := &canvas{width: min(max(leastWidth, perSecond*d.lasted.Seconds()), mostWidth), lasted: d.lasted, top: headHeight}
	panels := d.panels()
	height := headHeight + float64(len(panels))*(panelHeight+panelGap) + bottomMargin
	c.say(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="11">`, leftMargin+c.width+rightMargin, height)
	c.say(`<rect width="100%%" height="100%%" fill="white"/>`)
	for i, b := range d.bands {
		c.band(b, i, height-bottomMargin)
	}
	for _, p := range panels {
		c.panel(p)
	}
	c.say(`</svg>`)
	return c.String()
}

func (c *canvas) say(format string, args ...any) { fmt.Fprintf(c, format+"\n", args...) }

func (c *canvas) x(at time.Duration) float64 {
	return leftMargin + c.width*float64(at)/float64(max(c.lasted, time.Second))
}

// band draws a fault over the whole height, its name at the top.
func (c *canvas) band(b band, i int, bottom float64) {
	fill := []string{"#f5d5c8", "#f7e3b5"}[i%2]
	if b.calm {
		fill = "#e3f1e3"
	}
	from, to := c.x(b.from), c.x(b.to)
	c.say(`<g><title>%s: %s, from %s to %s</title>`, escape(b.name), escape(b.where), round(b.from), round(b.to))
	c.say(`<rect x="%.1f" y="%d" width="%.1f" height="%.1f" fill="%s"/>`, from, headHeight-6, max(1, to-from), bottom-headHeight+6, fill)
	c.say(`<text transform="translate(%.1f,%d) rotate(-60)">%s</text></g>`, from+8, headHeight-10, escape(short(b.name)))
}

// short cuts what would stand over other names.
func short(s string) string {
	const most = 42
	if letters := []rune(s); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return s
}

// escape makes text fit to stand in XML.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a builder takes all
	return b.String()
}

func TestPictureIsXMLAndShowsAllThereIs(t *testing.T) {
	began := time.Unix(1000, 0)
	strict := use{course: []admitted{{began.Add(time.Second), 300}, {began.Add(3 * time.Second), 660}}}
	d := drawn{began: began, lasted: 10 * time.Second, regions: []string{"eu-west"},
		bands:   []band{{from: time.Second, to: 2 * time.Second, name: "cut <b>", where: "a | b"}},
		uses:    map[pot]use{thisDay("strict", "1-all"): strict},
		seconds: []second{{map[string]int{"quota_exhausted": 3, answerAllowed: 5}, map[string]time.Duration{"eu-west": never}}},
	}
	text := d.svg()
	var words []string
	for in := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := in.Token()
		if err != nil {
			if err.Error() != "EOF" {
				t.Fatalf("%v in %s", err, text)
			}
			break
		}
		if data, ok := token.(xml.CharData); ok {
			words = append(words, string(data))
		}
	}
	for _, want := range []string{"cut <b>", "quota_exhausted", "eu-west"} {
		if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, want) }) {
			t.Errorf("%q is not in the picture", want)
		}
	}
	if !strings.Contains(text, "<polyline") || !strings.Contains(text, "1-all") {
		t.Error("the course of 1-all is not in the picture")
	}
}
