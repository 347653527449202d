package bucket

// State is a bucket's state: when it will be full, were nobody to ask. The
// zero value is a full bucket.
//
// The clock's ticks are counted from FullAtUs, backwards: at instant t, with j
// = (FullAtUs−t)/Tick rounded up, j × Refill − Spare units are missing. Between
// two ticks nothing flows.
type State struct {
	FullAtUs int64 // microseconds since 1970
	Spare    int64 // units by which FullAtUs is too late; 0 ≤ Spare < Refill
}
