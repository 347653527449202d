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

// observe takes in what the region had taken dt after the observation before,
// of an average that was begun age ago. What comes back is no demand.
func (d *demand) observe(taken int64, dt, age time.Duration) {
	grown := float64(max(0, taken-d.taken))
	weight := float64(dt) / float64(min(max(age, warmUp), demandTime)+dt)
	d.perSecond += weight * (grown/dt.Seconds() - d.perSecond)
	d.taken = taken
}
