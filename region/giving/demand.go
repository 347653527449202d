package giving

import "time"

const (
	// demandTime is the time constant of the average of a region's demand.
	demandTime = 1500 * time.Millisecond
	// warmUp is how long a new average counts as having seen nothing, so that one
	// early lump does not pass for a rate.
	warmUp = 500 * time.Millisecond
	// demandStep is the shortest time over which growth is looked at: entries
	// come in lumps.
	demandStep = 50 * time.Millisecond
)

// demand is a region's demand of one row: the exponentially weighted average of
// how what it took, net, grows.
type demand struct {
	region    string
	taken     int64 // units, at the instant of the last observation
	perSecond float64
}

// observe takes in what the region had taken, at the end of a step that counts
// for so much of the average. What comes back is no demand.
func (d *demand) observe(taken int64, step step) {
	grown := float64(max(0, taken-d.taken))
	d.perSecond += step.weight * (grown*step.rate - d.perSecond)
	d.taken = taken
}

// step is the time between two observations.
type step struct {
	rate   float64 // units a second for each unit
	weight float64
}

// stepOf is a step of dt in an average that was begun age before it.
func stepOf(dt, age time.Duration) step {
	return step{rate: 1 / dt.Seconds(), weight: float64(dt) / float64(min(max(age, warmUp), demandTime)+dt)}
}
