package bucket

// State is a bucket's state: when it will be full, were nobody to ask. The
// zero value is a full bucket.
//
// The units missing at instant t are (FullAtUs−t)/Tick × Refill − Spare.
type State struct {
	FullAtUs int64 // microseconds since 1970, rounded up to a tick
	Spare    int64 // units by which FullAtUs is too late; 0 ≤ Spare < Refill
}
