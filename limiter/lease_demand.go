package limiter

import (
	"time"

	"weir/limiter/quota"
)

// demand is what is asked of one row, in seconds that begin when it is asked.
type demand struct {
	since         time.Duration // when this second began
	units, checks int64         // asked for in it
	lastUnits     int64         // in the second before
	lastChecks    int64
}

// note counts one check.
func (d *demand) note(now time.Duration, cost int64) {
	d.roll(now)
	d.units += cost
	d.checks++
}

// roll begins a new second if this one is over.
func (d *demand) roll(now time.Duration) {
	elapsed := now - d.since
	if elapsed < time.Second {
		return
	}
	d.lastUnits, d.lastChecks = perSecond(d.units, elapsed), perSecond(d.checks, elapsed)
	d.since, d.units, d.checks = now, 0, 0
}

// want is about one second's demand, in units.
func (d *demand) want() int64 { return max(1, d.lastUnits, d.units) }

// perSecond is the rate of n in a time that has passed. It is an estimate: a
// float is exact enough, and cannot overflow.
func perSecond(n int64, elapsed time.Duration) int64 {
	rate := float64(n) * float64(time.Second) / float64(max(elapsed, time.Millisecond))
	return int64(min(rate, quota.MaxUnits))
}

// candidate counts the checks of one of the rows without a lease that share a
// slot. Where many do, the one that is asked for most stays (Boyer and Moore's
// majority vote): a flood of keys needs no memory and hides no hot row.
type candidate struct {
	hash   uint64
	since  time.Duration
	checks int32
	units  int64
}

// note counts one check and says whether its row has become hot: so many checks
// within a second. It then begins to count anew.
func (c *candidate) note(hash uint64, now time.Duration, cost int64, hot int32) (want int64, becameHot bool) {
	if c.hash != hash || now-c.since >= time.Second {
		if c.hash != hash && c.checks > 0 && now-c.since < time.Second {
			c.checks--
			return 0, false
		}
		*c = candidate{hash: hash, since: now}
	}
	c.checks++
	c.units += cost
	if c.checks < hot {
		return 0, false
	}
	want = max(1, perSecond(c.units, now-c.since))
	*c = candidate{hash: hash, since: now}
	return want, true
}
