package region

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootClock returns a monotonic clock that runs through suspension, which Go's
// does not: a node that slept must know that what it heard is old.
func bootClock() func() time.Duration {
	return func() time.Duration {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
			panic("CLOCK_BOOTTIME: " + err.Error()) // in Linux since 2.6.39
		}
		return time.Duration(ts.Nano())
	}
}
