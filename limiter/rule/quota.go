package rule

import (
	"encoding/binary"
	"fmt"
	"time"
)

// maxQuota keeps counts exact wherever a number is a double.
const maxQuota = 1 << 53

// Quota is a global limit over a calendar's periods; the zero Calendar is the
// days of UTC.
type Quota struct {
	Limit      int64 // units a period, 1 to 2^53
	Calendar   Calendar
	Overshoot  Overshoot
	Refundable bool // what was charged may be given back by its receipt
}

// Period returns the bounds of the period that holds the instant, in Unix
// seconds: start included, end not.
func (q Quota) Period(at time.Time) (start, end int64) { return q.Calendar.Period(at) }

// String is the quota as rules write it: 100000/day.
func (q Quota) String() string { return fmt.Sprintf("%d/%s", q.Limit, q.Calendar.unit) }

// append adds all that tells two quotas apart.
func (q Quota) append(b []byte) []byte {
	b = binary.AppendVarint(b, q.Limit)
	b = append(b, byte(q.Calendar.unit), byte(q.Calendar.Anchor()), flag(q.Refundable), flag(q.Overshoot.Unbounded))
	b = binary.AppendVarint(b, q.Overshoot.Share)
	return appendText(b, q.Calendar.Zone().String())
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}
