package rule

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"weir/limiter/document"
	"weir/limiter/rule/zoneinfo"
)

const quotaForm = "write COUNT/UNIT with m h day week month, such as 100000/day"

// quotaUnits are the units of a quota as they are written.
var quotaUnits = map[string]Unit{"m": Minute, "h": Hour, "day": Day, "week": Week, "month": Month}

// parseQuota reads COUNT/UNIT: 100000/day, 1e6/month.
func parseQuota(s string) (count int64, unit Unit, err error) {
	count, per, err := parseCount(s, quotaForm)
	if err != nil {
		return 0, 0, err
	}
	if count > maxQuota {
		return 0, 0, fmt.Errorf("count %d: the most a quota counts exactly is %d", count, int64(maxQuota))
	}
	if unit, ok := quotaUnits[per]; ok {
		return count, unit, nil
	}
	return 0, 0, wrongPeriod(s, per)
}

func wrongPeriod(quota, per string) error {
	switch per {
	case "s", "ms":
		return fmt.Errorf("no quota is per %s; write limit: %s for a regional limit, or %s", per, quota, quotaForm[len("write "):])
	case "M", "mo", "mon", "months", "Month":
		return fmt.Errorf("unknown unit %q (did you mean month?); %s", per, quotaForm)
	}
	if '0' <= per[0] && per[0] <= '9' {
		return fmt.Errorf("a quota counts by whole periods of the calendar, not over %q; %s", per, quotaForm)
	}
	if _, err := document.ParseUnit(per); err != nil {
		return fmt.Errorf("%w; %s", err, quotaForm)
	}
	return errors.New("not a quota; " + quotaForm)
}

// ofQuota are the fields that mean nothing without a quota, and why.
var ofQuota = []struct{ field, why string }{
	{"timezone", "a limit has no calendar"},
	{"anchor", "a limit has no calendar"},
	{"overshoot", "a limit has no overshoot"},
	{"refundable", "a limit refills by itself"},
}

func (f *rulesFile) readQuota(r *Rule, fields map[string]document.Value) bool {
	quota := fields["quota"]
	if !quota.Given() {
		ok := true
		for _, of := range ofQuota {
			if v := fields[of.field]; v.Given() {
				v.Problem("belongs to quota; %s", of.why)
				ok = false
			}
		}
		return ok
	}
	q := Quota{Overshoot: defaultOvershoot}
	unit, unitOK := q.readLimit(quota)
	zone, ok := f.readZone(fields["timezone"])
	anchor, anchorOK := readAnchor(fields["anchor"], unit, unitOK)
	ok = ok && unitOK && anchorOK
	if v := fields["overshoot"]; v.Given() {
		ok = q.Overshoot.read(v) && ok
	}
	if v := fields["refundable"]; v.Given() {
		value, isBool := v.Bool()
		q.Refundable, ok = value, ok && isBool
	}
	q.Calendar = NewCalendar(unit, zone, anchor)
	r.Limits = append(r.Limits, Limit{Quota: &q})
	return ok
}

func (q *Quota) readLimit(v document.Value) (unit Unit, ok bool) {
	if v.IsMapping() {
		v.Problem("quotas by tier are %s; write one quota, such as 100000/day", document.NotImplemented)
		return 0, false
	}
	text, ok := v.Text()
	if !ok {
		return 0, false
	}
	limit, unit, err := parseQuota(text)
	if err != nil {
		v.Problem("%s: %v", document.Quote(text), err)
		return 0, false
	}
	q.Limit = limit
	return unit, true
}

func readAnchor(v document.Value, unit Unit, unitKnown bool) (anchor int, ok bool) {
	if !v.Given() {
		return 1, true
	}
	n, ok := v.Int()
	switch {
	case !ok:
	case unitKnown && unit != Month:
		v.Problem("belongs to a quota per month; this one is per %s", unit)
		return 0, false
	case n < 1 || n > 31:
		v.Problem("%d: must be a day of the month, 1 to 31; in shorter months it is the last day", n)
		return 0, false
	}
	return int(n), ok
}

func (o *Overshoot) read(v document.Value) bool {
	text, ok := v.Text()
	if !ok {
		return false
	}
	overshoot, err := parseOvershoot(text)
	if err != nil {
		v.Problem("%s: %v", document.Quote(text), err)
		return false
	}
	*o = overshoot
	return true
}

const zoneForm = "write a name of the IANA database, such as America/Los_Angeles, or UTC"

// fixedOffset is what has no rules for summer time: +02:00, UTC-5, GMT+2.
var fixedOffset = regexp.MustCompile(`^(?i:UTC|GMT|Z)?[ ]?[-+−][0-9]`)

func (f *rulesFile) readZone(v document.Value) (zone *time.Location, ok bool) {
	if !v.Given() {
		return nil, true
	}
	name, ok := v.Text()
	if !ok {
		return nil, false
	}
	zone, err := zoneinfo.Load(name)
	if err != nil {
		v.Problem("%s: %s", document.Quote(name), f.wrongZone(name, err))
		return nil, false
	}
	return zone, true
}

func (f *rulesFile) wrongZone(name string, err error) string {
	f.unknownZones++
	switch {
	case !errors.Is(err, zoneinfo.ErrUnknown):
		return err.Error()
	case name == "":
		return "is empty; " + zoneForm
	case strings.EqualFold(name, "local"):
		return "differs from machine to machine; " + zoneForm
	case fixedOffset.MatchString(name):
		return "an offset is no time zone; " + zoneForm
	case f.unknownZones > document.MaxProblems:
		// Looking for the nearest name takes long, and nobody will read it.
	default:
		if near := zoneinfo.Suggest(name); near != "" {
			return fmt.Sprintf("unknown time zone; did you mean %s?", near)
		}
	}
	return "unknown time zone; " + zoneForm
}
