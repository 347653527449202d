package gossip

import (
	"strings"
	"time"
)

// RegionAge says how old the newest state heard from a region is. That age, not
// the membership protocol's verdict, decides whether a region is in touch.
type RegionAge struct {
	Region string
	Age    time.Duration
	// Known is false while nothing was ever heard of the region; Age is then 0.
	Known bool
}

// regions numbers the names of regions and keeps when each was last heard.
type regions struct {
	names   []string
	numbers map[string]uint32
	heard   []heard
	// The first so many are configured.
	configured int
}

// heard is the newest state that is known of a region.
//
// An age grows too slowly by the time it is on its way. Two nodes that told
// each other ages of a third that is silent, and believed the younger, would
// keep it young for ever. So states are told apart: each bears a stamp that its
// region raises with every tick, and of two ages of one state the higher is the
// truer.
type heard struct {
	known bool
	stamp uint64
	at    time.Duration // when the state was made, on this node's clock
}

func newRegions(own string, names []string) regions {
	r := regions{numbers: make(map[string]uint32)}
	for _, name := range append([]string{own}, names...) {
		r.learn(name)
	}
	r.configured = len(r.names)
	return r
}

// learn numbers a region and says whether there was room.
func (r *regions) learn(name string) bool {
	if _, known := r.numbers[name]; known {
		return true
	}
	if len(r.names) >= maxRegions {
		return false
	}
	name = strings.Clone(name)
	r.numbers[name] = uint32(len(r.names))
	r.names = append(r.names, name)
	r.heard = append(r.heard, heard{})
	return true
}

// index returns the number of a region that was learnt.
func (r *regions) index(name string) uint32 { return r.numbers[name] }

// hear notes a state of a region, made at an instant.
func (r *regions) hear(name string, stamp uint64, at time.Duration) {
	h := &r.heard[r.numbers[name]]
	switch {
	case !h.known || stamp > h.stamp:
		*h = heard{known: true, stamp: stamp, at: at}
	case stamp == h.stamp:
		h.at = min(h.at, at)
	}
}

// raiseStamp makes this tick's stamp of the own region. It is above all that
// were heard; the time of day keeps it above those of an earlier life, too.
func (c *Core) raiseStamp() {
	own := &c.regions.heard[0]
	own.stamp = max(own.stamp+1, uint64(max(c.nowUnix, 0))*1000)
}

func (c *Core) hear(now time.Duration, states []heardState) {
	for _, h := range states {
		if c.regions.learn(h.region) {
			c.regions.hear(h.region, h.stamp, now-h.age)
		} else {
			c.counters.RefusedRegions++
		}
	}
}

// Heard returns the age of the newest state heard from each region: those
// configured, this node's own first, then others that were heard of.
func (c *Core) Heard(now time.Duration) []RegionAge {
	out := make([]RegionAge, 0, len(c.regions.names))
	for i, name := range c.regions.names {
		age, known := c.age(now, i)
		if known || i < c.regions.configured {
			out = append(out, RegionAge{Region: name, Age: age, Known: known})
		}
	}
	return out
}

// age is that of region number i; the own region is number 0, and its age is 0.
func (c *Core) age(now time.Duration, i int) (age time.Duration, known bool) {
	if i == 0 {
		return 0, true
	}
	h := c.regions.heard[i]
	if !h.known {
		return 0, false
	}
	return max(now-h.at, 0), true
}
