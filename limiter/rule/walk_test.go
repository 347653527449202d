package rule

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/limiter/rule/zoneinfo"
)

// hardZones are those whose clocks were set in ways that code gets wrong.
var hardZones = []string{
	"Africa/Cairo", "Africa/Casablanca", "Africa/El_Aaiun", "Africa/Monrovia", "America/Asuncion", "America/Caracas",
	"America/Havana", "America/Los_Angeles", "America/New_York", "America/Nuuk", "America/Santiago", "America/Sao_Paulo",
	"America/Scoresbysund", "America/St_Johns", "Antarctica/Casey", "Antarctica/Troll", "Asia/Amman", "Asia/Beirut",
	"Asia/Gaza", "Asia/Kathmandu", "Asia/Kolkata", "Asia/Pyongyang", "Asia/Tehran", "Australia/Lord_Howe",
	"Europe/Berlin", "Europe/Dublin", "Europe/London", "Pacific/Apia", "Pacific/Chatham", "Pacific/Kiritimati",
	"Pacific/Kwajalein", "UTC",
}

// wholeMinutes is 1972-02-01: since then all offsets are whole minutes.
const wholeMinutes = 761 * day

// settings are the instants from then on at which a zone's clock is set.
func settings(zone *time.Location) (at []int64) {
	const step = 6 * hour
	for t := int64(wholeMinutes); t < year2100; t += step {
		before, after := t, t+step
		if offsetAt(zone, before) == offsetAt(zone, after) {
			continue
		}
		for after-before > 1 {
			if middle := (before + after) / 2; offsetAt(zone, middle) == offsetAt(zone, t) {
				before = middle
			} else {
				after = middle
			}
		}
		at = append(at, after)
	}
	return at
}

// label names the period that an instant lies in, by what the wall clock shows: a
// number that is greater for later dates.
func label(c Calendar, at time.Time) int {
	year, month, dayOfMonth := at.Date()
	switch c.unit {
	case Week:
		year, week := at.ISOWeek()
		return year*100 + week
	case Month:
		last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
		if dayOfMonth < min(c.Anchor(), last) {
			year, month, _ = time.Date(year, month-1, 1, 0, 0, 0, 0, time.UTC).Date()
		}
		return year*100 + int(month)
	}
	date := year*10_000 + int(month)*100 + dayOfMonth
	if c.unit == Day {
		return date
	}
	_, offset := at.Zone()
	shown := date*100 + at.Hour()
	if c.unit == Minute {
		shown = shown*100 + at.Minute()
	}
	return shown*10_000 + 5000 + offset/minute
}

// walk is the same by a second, simple way: it looks at the wall clock every
// minute and notes where the period becomes another. A date that has been does
// not come back.
func walk(c Calendar, from, to int64) (starts []int64) {
	current := label(c, time.Unix(from, 0).In(c.Zone()))
	for t := from + minute; t < to; t += minute {
		next := label(c, time.Unix(t, 0).In(c.Zone()))
		if next == current || c.unit != Minute && c.unit != Hour && next < current {
			continue
		}
		current = next
		starts = append(starts, t)
	}
	return starts
}

func compareWithWalk(t *rapid.T, c Calendar, around int64) {
	starts := walk(c, around-40*hour, around+40*hour)
	for i := 1; i < len(starts); i++ {
		for _, at := range []int64{starts[i-1], (starts[i-1] + starts[i]) / 2, starts[i] - 1} {
			if start, end := c.Period(time.Unix(at, 0)); start != starts[i-1] || end != starts[i] {
				t.Fatalf("%v: %d to %d, want %d to %d", time.Unix(at, 0).In(c.Zone()), start, end, starts[i-1], starts[i])
			}
		}
	}
	for i, first := range starts { // the only one of a long unit, too
		if _, end := c.Period(time.Unix(first-1, 0)); end != first {
			t.Fatalf("period %d begins at %d, and what is before ends at %d", i, first, end)
		}
	}
	if len(starts) == 0 {
		start, end := c.Period(time.Unix(around, 0))
		if start > around-40*hour+minute || end < around+40*hour {
			t.Fatalf("%d to %d, but nothing begins near %d", start, end, around)
		}
	}
}

func TestPeriodsWhereClocksAreSet(t *testing.T) {
	for _, name := range hardZones {
		zone, err := zoneinfo.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		at := settings(zone)
		t.Run(name, func(t *testing.T) {
			if len(at) == 0 {
				at = []int64{wholeMinutes}
			}
			rapid.Check(t, func(t *rapid.T) {
				around := rapid.SampledFrom(at).Draw(t, "around")
				unit := rapid.SampledFrom([]Unit{Hour, Day, Day, Week, Month, Month}).Draw(t, "unit")
				// Half of the anchors fall on what is walked.
				anchor := rapid.OneOf(rapid.IntRange(1, 31), rapid.Just(time.Unix(around, 0).In(zone).Day())).Draw(t, "anchor")
				compareWithWalk(t, NewCalendar(unit, zone, anchor), around)
			})
		})
	}
}

func TestMinutesWhereClocksAreSet(t *testing.T) {
	zone, err := zoneinfo.Load("Australia/Lord_Howe")
	if err != nil {
		t.Fatal(err)
	}
	at := settings(zone)
	rapid.Check(t, func(t *rapid.T) {
		compareWithWalk(t, NewCalendar(Minute, zone, 1), rapid.SampledFrom(at).Draw(t, "around"))
	})
}
