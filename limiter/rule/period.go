package rule

import (
	"math"
	"time"
)

// Lengths in seconds.
const (
	minute = 60
	hour   = 60 * minute
	day    = 24 * hour
)

// wallPeriod is the hour or minute on the wall clock that holds t, cut where the
// clock is set: an hour that the clock goes through twice is two periods.
func wallPeriod(zone *time.Location, t, length int64) (start, end int64) {
	if zone == nil {
		start = t - mod(t, length)
		return start, start + length
	}
	offset, from, to := stretch(zone, t)
	start = t - mod(t+offset, length)
	end = start + length
	for start < from {
		if offsetAt(zone, from-1) != offset {
			start = from
			break
		}
		_, from, _ = stretch(zone, from-1)
	}
	for to < end {
		if offsetAt(zone, to) != offset {
			end = to
			break
		}
		_, _, to = stretch(zone, to)
	}
	return start, end
}

// datePeriod is the period that began with the latest first day up to t. A clock
// set back past midnight does not bring yesterday back.
func (c Calendar) datePeriod(t int64) (start, end int64) {
	first := c.firstDay(floor(t+offsetAt(c.zone, t), day))
	next := c.nextFirstDay(first)
	start, end = dayStart(c.zone, first), dayStart(c.zone, next)
	for end <= t {
		next = c.nextFirstDay(next)
		start, end = end, dayStart(c.zone, next)
	}
	return start, end
}

// dayStart is the first instant at which the wall clock of the zone shows the
// day, counted from 1970-01-01, or a later one: 00:00 need not exist, nor need
// the day.
func dayStart(zone *time.Location, n int64) int64 {
	wall := n * day
	if zone == nil {
		return wall
	}
	at := wall - day // no zone is that far ahead of UTC
	for {
		offset, _, to := stretch(zone, at)
		if shown := max(at, wall-offset); shown < to {
			return shown
		}
		at = to
	}
}

// firstDay is the first day of the period of a day.
func (c Calendar) firstDay(n int64) int64 {
	switch c.unit {
	case Week:
		const thursday = 3 // 1970-01-01 was one; weeks begin on Monday
		return n - mod(n+thursday, 7)
	case Month:
		year, month, _ := date(n)
		if first := c.anchored(year, month); first <= n {
			return first
		}
		return c.anchored(year, month-1)
	}
	return n
}

func (c Calendar) nextFirstDay(first int64) int64 {
	switch c.unit {
	case Week:
		return first + 7
	case Month:
		year, month, _ := date(first)
		return c.anchored(year, month+1)
	}
	return first + 1
}

// anchored is the day on which the period of a month begins.
func (c Calendar) anchored(year int, month time.Month) int64 {
	first, next := dayNumber(year, month, 1), dayNumber(year, month+1, 1)
	return min(first+int64(c.Anchor())-1, next-1)
}

func date(n int64) (year int, month time.Month, dayOfMonth int) {
	return time.Unix(n*day, 0).UTC().Date()
}

// dayNumber counts days from 1970-01-01; months past the year's ends are of the
// next year or the one before.
func dayNumber(year int, month time.Month, dayOfMonth int) int64 {
	return time.Date(year, month, dayOfMonth, 0, 0, 0, 0, time.UTC).Unix() / day
}

func offsetAt(zone *time.Location, t int64) int64 {
	if zone == nil {
		return 0
	}
	_, offset := time.Unix(t, 0).In(zone).Zone()
	return int64(offset)
}

// stretch is a stretch of time around t with one offset from UTC. What comes
// before and after may have the same.
func stretch(zone *time.Location, t int64) (offset, from, to int64) {
	at := time.Unix(t, 0).In(zone)
	_, seconds := at.Zone()
	start, end := at.ZoneBounds()
	from, to = math.MinInt64, math.MaxInt64
	if !start.IsZero() {
		from = start.Unix()
	}
	if !end.IsZero() {
		to = end.Unix()
	}
	if to <= t {
		// Past the zone's table, package time ends every year after 365 days; a
		// leap year's last day in UTC is left over, and nothing changes in it.
		to = t - mod(t, day) + day
	}
	return int64(seconds), from, to
}

func mod(a, b int64) int64 { return (a%b + b) % b }

func floor(a, b int64) int64 { return (a - mod(a, b)) / b }
