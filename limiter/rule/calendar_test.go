package rule

import (
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/limiter/rule/zoneinfo"
)

func calendar(t testing.TB, unit Unit, zone string, anchor int) Calendar {
	t.Helper()
	loc, err := zoneinfo.Load(zone)
	if err != nil {
		t.Fatal(zone, err)
	}
	return NewCalendar(unit, loc, anchor)
}

func TestZeroCalendarIsTheDayOfUTC(t *testing.T) {
	var zero Calendar
	if zero.Unit() != Day || zero.Zone() != time.UTC || zero.Anchor() != 1 {
		t.Errorf("%v, %v, %d", zero.Unit(), zero.Zone(), zero.Anchor())
	}
	if got := calendar(t, Day, "UTC", 1); got != zero {
		t.Errorf("UTC's day is %+v", got)
	}
}

// What the wall clocks did, from the IANA database's own notes.
func TestPeriodsOnRecord(t *testing.T) {
	for _, c := range []struct {
		why, zone      string
		unit           Unit
		anchor         int
		at, start, end string
	}{
		{"plain", "UTC", Minute, 1, "2026-05-17T10:30:59Z", "2026-05-17T10:30:00Z", "2026-05-17T10:31:00Z"},
		{"plain", "UTC", Hour, 1, "2026-05-17T10:30:00Z", "2026-05-17T10:00:00Z", "2026-05-17T11:00:00Z"},
		{"plain", "UTC", Day, 1, "2026-05-17T10:30:00Z", "2026-05-17T00:00:00Z", "2026-05-18T00:00:00Z"},
		{"a Sunday", "UTC", Week, 1, "2026-05-17T10:30:00Z", "2026-05-11T00:00:00Z", "2026-05-18T00:00:00Z"},
		{"a Monday", "UTC", Week, 1, "2026-05-18T00:00:00Z", "2026-05-18T00:00:00Z", "2026-05-25T00:00:00Z"},
		{"before the epoch", "UTC", Week, 1, "1969-12-31T00:00:00Z", "1969-12-29T00:00:00Z", "1970-01-05T00:00:00Z"},
		{"before the epoch", "UTC", Hour, 1, "1969-12-31T23:59:59Z", "1969-12-31T23:00:00Z", "1970-01-01T00:00:00Z"},
		{"leap February", "UTC", Month, 1, "2028-02-29T23:59:59Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"},
		{"over the year", "UTC", Month, 15, "2027-01-14T23:59:59Z", "2026-12-15T00:00:00Z", "2027-01-15T00:00:00Z"},
		{"clamped", "UTC", Month, 31, "2026-02-27T23:59:59Z", "2026-01-31T00:00:00Z", "2026-02-28T00:00:00Z"},
		{"clamped", "UTC", Month, 31, "2026-02-28T00:00:00Z", "2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z"},
		{"clamped", "UTC", Month, 30, "2028-02-29T12:00:00Z", "2028-02-29T00:00:00Z", "2028-03-30T00:00:00Z"},
		{"clamped, summer time", "Europe/Berlin", Month, 31, "2028-03-01T00:00:00Z", "2028-02-28T23:00:00Z", "2028-03-30T22:00:00Z"},

		{"23 hours", "America/New_York", Day, 1, "2026-03-08T12:00:00Z", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"},
		{"25 hours", "America/New_York", Day, 1, "2026-11-01T12:00:00Z", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"},
		{"167 hours", "Europe/Berlin", Week, 1, "2026-03-29T12:00:00Z", "2026-03-22T23:00:00Z", "2026-03-29T22:00:00Z"},
		{"first time round", "America/New_York", Hour, 1, "2026-11-01T05:59:59Z", "2026-11-01T05:00:00Z", "2026-11-01T06:00:00Z"},
		{"second time round", "America/New_York", Hour, 1, "2026-11-01T06:00:00Z", "2026-11-01T06:00:00Z", "2026-11-01T07:00:00Z"},
		{"half-hour zone", "Asia/Kolkata", Hour, 1, "2026-05-17T10:29:59Z", "2026-05-17T09:30:00Z", "2026-05-17T10:30:00Z"},
		{"45-minute zone", "Asia/Kathmandu", Hour, 1, "2026-05-17T10:15:00Z", "2026-05-17T10:15:00Z", "2026-05-17T11:15:00Z"},

		{"half an hour back", "Australia/Lord_Howe", Hour, 1, "2026-04-04T14:45:00Z", "2026-04-04T14:00:00Z", "2026-04-04T15:00:00Z"},
		{"half an hour back", "Australia/Lord_Howe", Hour, 1, "2026-04-04T15:00:00Z", "2026-04-04T15:00:00Z", "2026-04-04T15:30:00Z"},
		{"half an hour back", "Australia/Lord_Howe", Hour, 1, "2026-04-04T15:30:00Z", "2026-04-04T15:30:00Z", "2026-04-04T16:30:00Z"},
		{"half an hour on", "Australia/Lord_Howe", Hour, 1, "2026-10-03T15:29:59Z", "2026-10-03T14:30:00Z", "2026-10-03T15:30:00Z"},
		{"half an hour on", "Australia/Lord_Howe", Hour, 1, "2026-10-03T15:30:00Z", "2026-10-03T15:30:00Z", "2026-10-03T16:00:00Z"},
		{"24 h 30", "Australia/Lord_Howe", Day, 1, "2026-04-05T00:00:00Z", "2026-04-04T13:00:00Z", "2026-04-05T13:30:00Z"},

		{"no midnight", "America/Sao_Paulo", Day, 1, "2017-10-15T03:00:00Z", "2017-10-15T03:00:00Z", "2017-10-16T02:00:00Z"},
		{"no midnight, the day before", "America/Sao_Paulo", Day, 1, "2017-10-15T02:59:59Z", "2017-10-14T03:00:00Z", "2017-10-15T03:00:00Z"},
		{"back at midnight", "America/Sao_Paulo", Day, 1, "2018-02-18T02:30:00Z", "2018-02-17T02:00:00Z", "2018-02-18T03:00:00Z"},
		{"no midnight", "Asia/Beirut", Day, 1, "2024-03-31T10:00:00Z", "2024-03-30T22:00:00Z", "2024-03-31T21:00:00Z"},
		{"no midnight", "Africa/Cairo", Day, 1, "2024-04-26T10:00:00Z", "2024-04-25T22:00:00Z", "2024-04-26T21:00:00Z"},
		{"quarter of an hour lost at midnight", "Asia/Kathmandu", Day, 1, "1985-12-31T18:30:00Z", "1985-12-31T18:30:00Z", "1986-01-01T18:15:00Z"},

		{"one minute of the 29th, then the 28th again", "America/St_Johns", Day, 1, "2006-10-29T02:29:59Z", "2006-10-28T02:30:00Z", "2006-10-29T02:30:00Z"},
		{"the 28th again", "America/St_Johns", Day, 1, "2006-10-29T02:45:00Z", "2006-10-29T02:30:00Z", "2006-10-30T03:30:00Z"},
		{"an hour of one minute", "America/St_Johns", Hour, 1, "2006-10-29T02:30:30Z", "2006-10-29T02:30:00Z", "2006-10-29T02:31:00Z"},
		{"its first day twice begun", "America/St_Johns", Month, 29, "2006-10-29T02:45:00Z", "2006-10-29T02:30:00Z", "2006-11-29T03:30:00Z"},

		{"before the skipped day", "Pacific/Apia", Day, 1, "2011-12-30T09:59:59Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"},
		{"after the skipped day", "Pacific/Apia", Day, 1, "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
		{"anchor on the skipped day", "Pacific/Apia", Month, 30, "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", "2012-01-29T10:00:00Z"},
		{"six days", "Pacific/Apia", Week, 1, "2011-12-28T00:00:00Z", "2011-12-26T10:00:00Z", "2012-01-01T10:00:00Z"},
		{"a month's last day skipped", "Pacific/Kiritimati", Month, 1, "1994-12-31T10:00:00Z", "1994-12-31T10:00:00Z", "1995-01-31T10:00:00Z"},
		{"a month's last day skipped", "Pacific/Kiritimati", Month, 31, "1994-12-31T10:00:00Z", "1994-12-31T10:00:00Z", "1995-01-30T10:00:00Z"},

		{"44 min 30 s at once", "Africa/Monrovia", Hour, 1, "1972-01-07T00:44:29Z", "1972-01-06T23:44:30Z", "1972-01-07T00:44:30Z"},
		{"44 min 30 s at once", "Africa/Monrovia", Hour, 1, "1972-01-07T00:44:30Z", "1972-01-07T00:44:30Z", "1972-01-07T01:00:00Z"},

		{"past the table, a leap year's last day", "America/Los_Angeles", Day, 1, "2096-12-31T20:00:00Z", "2096-12-31T08:00:00Z", "2097-01-01T08:00:00Z"},
		{"past the table, a leap year's last hour", "America/Los_Angeles", Hour, 1, "2096-12-31T23:30:00Z", "2096-12-31T23:00:00Z", "2097-01-01T00:00:00Z"},
		{"past the table, summer", "America/Los_Angeles", Day, 1, "2099-03-08T20:00:00Z", "2099-03-08T08:00:00Z", "2099-03-09T07:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		start, end := calendar(t, c.unit, c.zone, c.anchor).Period(at)
		got, till := time.Unix(start, 0).UTC().Format(time.RFC3339), time.Unix(end, 0).UTC().Format(time.RFC3339)
		if got != c.start || till != c.end {
			t.Errorf("%s, %s in %s at %s: %s to %s, want %s to %s", c.why, c.unit, c.zone, c.at, got, till, c.start, c.end)
		}
	}
}

func drawCalendar(t *rapid.T, zones []string) Calendar {
	loc, err := zoneinfo.Load(rapid.SampledFrom(zones).Draw(t, "zone"))
	if err != nil {
		t.Fatal(err)
	}
	unit := rapid.SampledFrom([]Unit{Minute, Hour, Day, Week, Month}).Draw(t, "unit")
	return NewCalendar(unit, loc, rapid.IntRange(1, 31).Draw(t, "anchor"))
}

var (
	year1971 = time.Date(1971, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	year2100 = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
)

// longest is the most seconds a period has: a clock may be set back.
var longest = map[Unit]int64{Minute: minute, Hour: hour, Day: 26 * hour, Week: 7*day + 2*hour, Month: 31*day + 2*hour}

// Periods leave no instant out and none twice, in every zone there is.
func TestPeriodsTile(t *testing.T) {
	zones := zoneinfo.Names()
	rapid.Check(t, func(t *rapid.T) {
		c := drawCalendar(t, zones)
		at := rapid.Int64Range(year1971, year2100).Draw(t, "at")
		period := func(at int64) (start, end int64) { return c.Period(time.Unix(at, 0)) }
		start, end := period(at)
		if at < start || at >= end {
			t.Fatalf("%d lies not in %d to %d", at, start, end)
		}
		if end-start > longest[c.unit] {
			t.Fatalf("%d to %d is %d s long", start, end, end-start)
		}
		for _, inside := range []int64{start, rapid.Int64Range(start, end-1).Draw(t, "inside"), end - 1} {
			if s, e := period(inside); s != start || e != end {
				t.Fatalf("%d lies in %d to %d, and %d in %d to %d", at, start, end, inside, s, e)
			}
			if s, e := c.find(inside); s != start || e != end {
				t.Fatalf("%d lies in %d to %d when remembered, otherwise in %d to %d", inside, start, end, s, e)
			}
		}
		if s, e := period(end); s != end || e <= end {
			t.Fatalf("after %d to %d comes %d to %d", start, end, s, e)
		}
		if s, e := period(start - 1); e != start || s >= start {
			t.Fatalf("before %d to %d comes %d to %d", start, end, s, e)
		}
	})
}

// Any instant that a clock can show has a period.
func TestFarPeriods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCalendar(t, hardZones)
		at := rapid.Int64Range(-1<<45, 1<<45).Draw(t, "at")
		for range 2 { // the second may be remembered
			if start, end := c.Period(time.Unix(at, 0)); at < start || at >= end {
				t.Fatalf("%d lies not in %d to %d", at, start, end)
			}
		}
	})
}

// A copy shares what is remembered, and goroutines see periods whole.
func TestPeriodsAtOnce(t *testing.T) {
	c := calendar(t, Hour, "America/New_York", 1)
	noon := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	var all sync.WaitGroup
	for g := range 4 {
		mine := c
		all.Go(func() {
			for i := range 20_000 {
				at := noon.Add(time.Duration(i%7) * time.Duration(g+1) * 30 * time.Minute)
				start, end := mine.Period(at)
				if s, e := mine.find(at.Unix()); start != s || end != e {
					t.Errorf("%v: %d to %d, want %d to %d", at, start, end, s, e)
					return
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkPeriod(b *testing.B) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name string
		c    Calendar
	}{
		{"day UTC", Calendar{}},
		{"month UTC", NewCalendar(Month, nil, 1)},
		{"hour New York", calendar(b, Hour, "America/New_York", 1)},
		{"month New York", calendar(b, Month, "America/New_York", 15)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.c.Period(now)
			}
		})
		b.Run(c.name+" not remembered", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.c.find(now.Unix())
			}
		})
	}
}
