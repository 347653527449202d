//go:build !race

package rule

import (
	"testing"
	"time"
)

// Every check of a quota asks for its period.
func TestPeriodAllocatesNothing(t *testing.T) {
	for _, unit := range []Unit{Minute, Hour, Day, Week, Month} {
		c := calendar(t, unit, "America/New_York", 31)
		at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		if n := testing.AllocsPerRun(200, func() {
			c.Period(at)
			at = at.Add(5 * time.Hour) // through both what is remembered and what is not
		}); n > 0 {
			t.Errorf("%v: %v allocations", unit, n)
		}
	}
}
