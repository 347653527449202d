package bucket

import (
	"fmt"
	"time"
)

// maxUnits bounds every product of the algorithm: up to 2^53 a Lua number (a
// double) is an exact integer, so the script and this package agree to the unit.
const maxUnits = 1 << 53

// maxFill is the longest that an empty bucket may take to fill: an instant so
// far ahead, in microseconds since 1970, still lies below 2^53.
const maxFill = 100 * 365 * 24 * time.Hour

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
		if !r.exact() {
			continue
		}
		if r.FillTicks() > maxFill.Microseconds()/r.Tick {
			return Rate{}, fmt.Errorf("burst %d at %d per %v would take over 100 years to fill: lower the burst", burst, count, window)
		}
		return r, nil
	}
	return Rate{}, fmt.Errorf("burst %d over %v cannot be counted exactly: lower the burst, or choose a rounder count", burst, window)
}

// exact says whether the largest sums a decision forms, two capacities and two
// refills, stay below maxUnits.
func (r Rate) exact() bool {
	return r.Refill <= maxUnits/4 && r.Token <= (maxUnits/2-r.Refill)/r.Burst
}

// Capacity is the most units the bucket holds.
func (r Rate) Capacity() int64 { return r.Burst * r.Token }

// FillTicks is how many ticks an empty bucket takes to fill.
func (r Rate) FillTicks() int64 { return ceilDiv(r.Capacity(), r.Refill) }

// ceilDiv is a/b rounded up, for a ≥ 0 and b > 0.
func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
