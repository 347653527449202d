package store

import (
	"errors"
	"fmt"

	"weir/limiter/quota"
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
		if err := t.check(); err != nil {
			return fmt.Errorf("%w: quota %d: %w", ErrCall, i, err)
		}
		if t.Cost < 0 {
			return fmt.Errorf("%w: quota %d: cost %d: must not be negative", ErrCall, i, t.Cost)
		}
	}
	return nil
}

func (r *QuotaRow) check() error {
	switch {
	case r.Tag >= Tags:
		return fmt.Errorf("tag %d: must be below %d", r.Tag, Tags)
	case r.Row.Start >= r.Row.End:
		return fmt.Errorf("period %d to %d: must end after it starts", r.Row.Start, r.Row.End)
	case r.Allotted < 0:
		return fmt.Errorf("allotted %d: must not be negative", r.Allotted)
	}
	return nil
}

// Check says which rule a change breaks, if any; see Call.Check.
func (c *Change) Check() error {
	if err := c.check(); err != nil {
		return fmt.Errorf("%w: %w", ErrCall, err)
	}
	switch {
	case c.Kind < Give || c.Kind > Open:
		return fmt.Errorf("%w: change of kind %d: must be %d to %d", ErrCall, c.Kind, Give, Open)
	case c.Units < 0 || c.Units > quota.MaxUnits || c.Keep < 0 || c.Keep > quota.MaxUnits:
		return fmt.Errorf("%w: units %d, keep %d: must be 0 to 2^53", ErrCall, c.Units, c.Keep)
	case c.Kind == Give && c.To == "":
		return fmt.Errorf("%w: a gift to nobody", ErrCall)
	case (c.Kind == TakeLease || c.Kind == ReturnLease) && (c.Node == "" || c.Request == quota.RequestID{}):
		return fmt.Errorf("%w: a lease without node or request", ErrCall)
	}
	return nil
}

// Fail sets the status of a change that was not made.
func (c *Change) Fail(err error) { c.Status, c.Err = Failed, err }

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
