package rule

import (
	"bytes"
	"testing"
)

func parseOne(t *testing.T, fields string) *Quota {
	t.Helper()
	set, err := Parse("rules.yaml", []byte("rules: [{name: a, "+fields+"}]"))
	if err != nil {
		t.Fatal(err)
	}
	limits := set.Rules[0].Limits
	return limits[len(limits)-1].Quota
}

func TestQuotaFields(t *testing.T) {
	for _, c := range []struct {
		fields    string
		limit     int64
		unit      Unit
		zone      string
		anchor    int
		overshoot string
		refunds   bool
	}{
		{"quota: 100/m", 100, Minute, "UTC", 1, "1%", false},
		{"quota: 5e3/h", 5000, Hour, "UTC", 1, "1%", false},
		{"quota: 9007199254740992/day", 1 << 53, Day, "UTC", 1, "1%", false},
		{"quota: 1/week, timezone: UTC, overshoot: 0%", 1, Week, "UTC", 1, "0", false},
		{"quota: 1/month, overshoot: 0, refundable: false", 1, Month, "UTC", 1, "0", false},
		{"quota: 1/month, anchor: 31, refundable: true", 1, Month, "UTC", 31, "1%", true},
		{"quota: 1/month, anchor: '1', timezone: America/Los_Angeles", 1, Month, "America/Los_Angeles", 1, "1%", false},
		{"limit: 1/s, quota: 1/day, timezone: Asia/Kathmandu, overshoot: unbounded", 1, Day, "Asia/Kathmandu", 1, "unbounded", false},
		{"quota: 1/day, timezone: Etc/GMT+5, overshoot: '0.5%'", 1, Day, "Etc/GMT+5", 1, "0.5%", false},
		{"quota: 1/day, timezone: EST5EDT, overshoot: 100%", 1, Day, "EST5EDT", 1, "100%", false},
	} {
		q := parseOne(t, c.fields)
		if q.Limit != c.limit || q.Calendar.Unit() != c.unit || q.Calendar.Zone().String() != c.zone ||
			q.Calendar.Anchor() != c.anchor || q.Overshoot.String() != c.overshoot || q.Refundable != c.refunds {
			t.Errorf("%s: %+v, %v, %d, %v, %v", c.fields, q, q.Calendar.Zone(), q.Calendar.Anchor(), q.Overshoot, q.Refundable)
		}
	}
}

func TestQuotaString(t *testing.T) {
	for _, s := range []string{"1/m", "2/h", "3/day", "4/week", "5/month"} {
		if got := parseOne(t, "quota: "+s).String(); got != s {
			t.Errorf("%s reads as %s", s, got)
		}
	}
}

// Two quotas that count or allow differently are different rules.
func TestQuotaFingerprint(t *testing.T) {
	seen := map[string]string{}
	for _, fields := range []string{
		"quota: 5/m", "quota: 5/h", "quota: 5/day", "quota: 5/week", "quota: 5/month", "quota: 6/day",
		"quota: 5/month, anchor: 2", "quota: 5/month, anchor: 31",
		"quota: 5/day, timezone: Europe/Berlin", "quota: 5/day, timezone: Europe/Paris",
		"quota: 5/day, overshoot: 0", "quota: 5/day, overshoot: 0.000001%", "quota: 5/day, overshoot: 100%",
		"quota: 5/day, overshoot: unbounded", "quota: 5/day, refundable: true",
	} {
		set, err := Parse("rules.yaml", []byte("rules: [{name: a, "+fields+"}]"))
		if err != nil {
			t.Fatal(err)
		}
		if before, twice := seen[set.Fingerprint()]; twice {
			t.Errorf("%s has the fingerprint of %s", fields, before)
		}
		seen[set.Fingerprint()] = fields
	}
	same := func(a, b string) bool {
		return bytes.Equal(parseOne(t, a).append(nil), parseOne(t, b).append(nil))
	}
	if !same("quota: 5/month", "quota: 5/month, anchor: 1, timezone: UTC, overshoot: 1.0%, refundable: false") {
		t.Error("defaults make another rule when written")
	}
}
