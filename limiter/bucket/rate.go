package bucket

import (
	"fmt"
	"time"
)

// maxUnits bounds every product of the algorithm: below 2^53 a Lua number (a
// double) is an exact integer, so the script and this package agree to the unit.
const maxUnits = 1 << 53

// Rate is a token bucket's parameters: Count tokens each Window, at most Burst
// at once. Make it with NewRate; the zero value is not valid.
//
// Inside, a token is Token units and Refill units flow in each Tick of the
// clock, with Refill/Token = Count/Window in lowest terms, so that nothing is
// ever rounded.
type Rate struct {
	Count  int64
	Window time.Duration
	Burst  int64

	Tick   int64 // microseconds: 1, 1 000 or 1 000 000
	Token  int64 // units a token costs
	Refill int64 // units that flow back each tick
}

// NewRate checks the parameters and picks the finest tick in which
// burst × window still counts exactly.
func NewRate(count int64, window time.Duration, burst int64) (Rate, error) {
	switch {
	case count < 1:
		return Rate{}, fmt.Errorf("count %d: must be at least 1", count)
	case burst < 1:
		return Rate{}, fmt.Errorf("burst %d: must be at least 1", burst)
	case window < time.Millisecond:
		return Rate{}, fmt.Errorf("window %v: must be at least 1ms", window)
	}
	for _, tick := range []time.Duration{time.Microsecond, time.Millisecond, time.Second} {
		if window%tick != 0 {
			break
		}
		ticks := int64(window / tick)
		g := gcd(count, ticks)
		r := Rate{Count: count, Window: window, Burst: burst,
			Tick: tick.Microseconds(), Token: ticks / g, Refill: count / g}
		// Two capacities and one refill are the largest sum a decision forms.
		if r.Token <= (maxUnits-r.Refill)/2/burst && r.Refill < maxUnits {
			return r, nil
		}
	}
	return Rate{}, fmt.Errorf("burst %d over %v cannot be counted exactly: lower the burst, or choose a rounder count", burst, window)
}

// Capacity is the most units the bucket holds.
func (r Rate) Capacity() int64 { return r.Burst * r.Token }

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
