package chaos

import (
	"slices"
	"time"
)

// outcome is what a region's clients met from the injection to the check.
type outcome struct {
	counts
	latency time.Duration
	pulse   beats
}

// tallies are the counts of all nodes at a moment.
func (c *course) tallies() map[*node]counts {
	all := map[*node]counts{}
	for _, n := range c.world.nodes() {
		all[n] = n.tally.counts()
		n.tally.takeExtremes(time.Now())
	}
	return all
}

// blame adds up what clients met, and tells of errors and silence at nodes that
// the fault did not touch.
func (c *course) blame(s *step, before map[*node]counts) {
	for i, r := range c.world.regions {
		o := outcome{pulse: r.store.pulse.beats().minus(s.pulses[i])}
		for _, n := range r.nodes {
			met, worst := n.tally.counts().minus(before[n]), n.tally.takeExtremes(time.Now())
			o.counts, o.latency = o.plus(met), max(o.latency, worst.latency)
			o.blame(s, n, met, worst)
		}
		s.regions = append(s.regions, o)
	}
}

// blame tells of what a fault does not excuse at a node.
func (o *outcome) blame(s *step, n *node, met counts, worst extremes) {
	if slices.Contains(s.fault.hurt, n) {
		return
	}
	if met.failed > 0 {
		s.problem("%s did not break, yet %d calls failed: %v", n.name, met.failed, worst.lastError)
	}
	if slices.Contains(s.fault.away, n) {
		return
	}
	if met.away > excuse*o.pulse.slow {
		s.problem("%s was not touched, yet %d calls met no store (%d were allowed); the test waited over %v for it %d times of %d",
			n.name, met.away, met.allowed, slowPulse, o.pulse.slow, o.pulse.asked)
	}
	if worst.silence > maxSilence {
		s.problem("%s was not touched, yet decided nothing for %v", n.name, worst.silence.Round(time.Millisecond))
	}
}
