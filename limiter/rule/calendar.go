package rule

import (
	"sync/atomic"
	"time"
)

// Unit is what a quota's period is one of.
type Unit uint8

// The units of a calendar.
const (
	Day Unit = iota
	Minute
	Hour
	Week // begins on Monday, as ISO 8601 has it
	Month
)

// String is the unit as quotas write it.
func (u Unit) String() string { return [...]string{"day", "m", "h", "week", "month"}[u] }

// Calendar divides time into periods: every instant lies in exactly one, and
// where one ends the next begins. The zero value is the days of UTC. It may be
// copied, and used by any goroutine.
type Calendar struct {
	unit   Unit
	zone   *time.Location // nil is UTC
	anchor int            // first day of a month's period; 0 is 1
	last   *atomic.Uint64 // the last period asked for, packed; nil where that would save nothing
}

// NewCalendar returns the periods of a unit on the clocks of a zone; nil is UTC.
// The anchor is the day of the month, 1 to 31, on which a month's period begins;
// in shorter months it is their last day. Other units do not use it.
func NewCalendar(unit Unit, zone *time.Location, anchor int) Calendar {
	c := Calendar{unit: unit, zone: zone}
	if zone != nil && zone.String() == "UTC" {
		c.zone = nil
	}
	if unit == Month && anchor > 1 {
		c.anchor = anchor
	}
	if c.zone != nil || unit == Month {
		c.last = new(atomic.Uint64)
	}
	return c
}

// Unit is what a period is one of.
func (c Calendar) Unit() Unit { return c.unit }

// Zone is the time zone whose clocks the periods follow.
func (c Calendar) Zone() *time.Location {
	if c.zone == nil {
		return time.UTC
	}
	return c.zone
}

// Anchor is the day of the month on which a month's period begins.
func (c Calendar) Anchor() int { return max(1, c.anchor) }

// Period returns the bounds of the period that holds the instant, in Unix
// seconds: start included, end not. Nothing is allocated.
func (c Calendar) Period(at time.Time) (start, end int64) {
	t := at.Unix()
	if c.last == nil {
		return c.find(t)
	}
	if start, end = unpack(c.last.Load()); start <= t && t < end {
		return start, end
	}
	start, end = c.find(t)
	if packed, ok := pack(start, end); ok {
		c.last.Store(packed)
	}
	return start, end
}

// lengthBits hold the length of any period in seconds, 32 days and more.
const lengthBits = 22

// pack puts a period into one word, so that it is read and written whole. The
// empty word is an empty period.
func pack(start, end int64) (packed uint64, ok bool) {
	packed = uint64(start)<<lengthBits | uint64(end-start)
	s, e := unpack(packed)
	return packed, s == start && e == end
}

func unpack(packed uint64) (start, end int64) {
	start = int64(packed) >> lengthBits
	return start, start + int64(packed&(1<<lengthBits-1))
}

func (c Calendar) find(t int64) (start, end int64) {
	switch c.unit {
	case Minute:
		return wallPeriod(c.zone, t, minute)
	case Hour:
		return wallPeriod(c.zone, t, hour)
	}
	return c.datePeriod(t)
}
