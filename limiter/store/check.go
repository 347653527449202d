package store

import (
	"errors"
	"fmt"
)

// ErrCall is wrapped by the Err of a call that breaks the rules: a mistake of
// the caller, not of the store.
var ErrCall = errors.New("invalid call")

// Check says which rule a call breaks, if any. Stores check every call before
// they touch anything. The error wraps ErrCall.
func (c *Call) Check() error {
	for i := range c.Buckets {
		t := &c.Buckets[i]
		switch {
		case t.Tag >= Tags:
			return fmt.Errorf("%w: bucket %d: tag %d: must be below %d", ErrCall, i, t.Tag, Tags)
		case t.Cost < 0:
			return fmt.Errorf("%w: bucket %d: cost %d: must not be negative", ErrCall, i, t.Cost)
		case t.Rate.Token == 0:
			return fmt.Errorf("%w: bucket %d: its rate is empty: make it with bucket.NewRate", ErrCall, i)
		}
	}
	for i := range c.Quotas {
		t := &c.Quotas[i]
		switch {
		case t.Tag >= Tags:
			return fmt.Errorf("%w: quota %d: tag %d: must be below %d", ErrCall, i, t.Tag, Tags)
		case t.Cost < 0:
			return fmt.Errorf("%w: quota %d: cost %d: must not be negative", ErrCall, i, t.Cost)
		case t.Row.Start >= t.Row.End:
			return fmt.Errorf("%w: quota %d: period %d to %d: must end after it starts", ErrCall, i, t.Row.Start, t.Row.End)
		}
	}
	return nil
}

// Fail sets the status of a call that was not decided.
func (c *Call) Fail(err error) { c.Status, c.Err = Failed, err }

// Within says whether an instant, in microseconds since 1970, lies in the
// row's period.
func (n *RowName) Within(nowUs int64) bool {
	return n.Start*1_000_000 <= nowUs && nowUs < n.End*1_000_000
}

// GoneUs is when the row is dropped: its period's end and RowGrace, in
// microseconds since 1970.
func (n *RowName) GoneUs() int64 { return n.End*1_000_000 + RowGrace.Microseconds() }
