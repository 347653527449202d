package giving

import "time"

// Policy decides about gifts. It belongs to one goroutine at a time.
type Policy interface {
	// Gift names the gift that the view's own region should make now, if any.
	// now is a reading of a monotonic clock. The view is only read, and not kept.
	Gift(now time.Duration, v *View) (Gift, bool)
}

// Gift is what a region gives to another. Target is in all, since the row
// began, so that a gift that is made twice is one gift.
type Gift struct {
	To     string
	Target int64 // units
	Keep   int64 // units of rights that must remain, at least 0
}
