//go:build !linux

package region

import "time"

// bootClock returns Go's monotonic clock: other systems have no portable one
// that runs through suspension.
func bootClock() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}
