package limiter

import "time"

// Request is one check: what is known of the request, and the units it asks
// for. Cost 0 is a look: it changes no later decision.
type Request struct {
	Attributes map[string]string
	Cost       int64
	// Explain asks for Decision.Limits.
	Explain bool
}

// MaxCost is the largest cost of one check, in units.
const MaxCost = 1_000_000_000

// Decision is the answer to a check. Allowed and Reason speak of the whole
// check, the other fields of its reported limit: of those that denied, the one
// with the longest wait; of those that allowed, the one with the least share
// left. When no rule matched, Rule is empty and every number is 0.
type Decision struct {
	Allowed   bool
	DecidedBy DecidedBy
	Status    // the reported limit

	// Limits holds every matching limit's part, in the order of the rules, when
	// the request asked for it. It belongs to the caller.
	Limits []Status

	// Receipt is what Refunds.Refund takes: nil unless the check charged quotas
	// that are refundable. It belongs to the caller.
	Receipt []byte
}

// Status is one limit's part in a decision.
type Status struct {
	Rule    string
	Kind    Kind
	Key     string // the counted key, as rule.Rule.Key gives it
	CountBy string // the first attribute counted by; empty when none
	Fits    bool
	Reason  Reason // why it did not fit; ReasonNone when it did

	Limit      int64         // units: a bucket's count, a quota's limit
	Window     time.Duration // what Limit is counted over
	Burst      int64         // units that can pass at once
	Remaining  int64         // whole units left now
	Reset      int64         // Unix seconds when it is whole again, rounded up
	UntilReset time.Duration // the same from the store's now, rounded up to a microsecond
	RetryAfter time.Duration // until the cost fits, rounded up to a microsecond; 0 when it fits or never will
}

// Kind tells a regional bucket from a global quota.
type Kind uint8

// The kinds of limits.
const (
	KindNone Kind = iota
	KindBucket
	KindQuota
)

// Reason is why a check was denied. Its text is stable: metrics and clients
// know it.
type Reason uint8

// The reasons for a denial.
const (
	ReasonNone Reason = iota
	ReasonLimitExceeded
	ReasonQuotaExhausted
	ReasonCostExceedsLimit
	ReasonStoreUnavailable
	ReasonCapacity
	// ReasonQuotaRightsExhausted: enough of the quota is left, but this region
	// may not let it through by itself until another gives it rights.
	ReasonQuotaRightsExhausted
)

// Reasons are all of them, for whoever must count each.
var Reasons = [...]Reason{ReasonLimitExceeded, ReasonQuotaExhausted, ReasonCostExceedsLimit, ReasonStoreUnavailable, ReasonCapacity, ReasonQuotaRightsExhausted}

var reasonNames = [...]string{"", "limit_exceeded", "quota_exhausted", "cost_exceeds_limit", "store_unavailable", "capacity", "quota_rights_exhausted"}

func (r Reason) String() string { return reasonNames[r] }

// DecidedBy says what an answer rests on.
type DecidedBy uint8

// What can decide.
const (
	// DecidedByStore: the region's store.
	DecidedByStore DecidedBy = iota
	// DecidedByClosed: the store was away, and the safe answer is no.
	DecidedByClosed
	// DecidedByNoRule: no rule matched, so nothing was counted.
	DecidedByNoRule
	// DecidedByLease: units the node took from the store ahead of use.
	DecidedByLease
)

func (d DecidedBy) String() string { return [...]string{"store", "closed", "no_rule", "lease"}[d] }

// stricter says whether a is to be reported rather than b.
func stricter(a, b *Status) bool {
	if a.Fits != b.Fits {
		return !a.Fits
	}
	if !a.Fits {
		return a.wait() > b.wait()
	}
	// a.Remaining/a.Burst < b.Remaining/b.Burst; floats are exact enough to
	// choose a headline, and cannot overflow.
	return float64(a.Remaining)*float64(b.Burst) < float64(b.Remaining)*float64(a.Burst)
}

// wait is RetryAfter with "never" as the longest.
func (s *Status) wait() time.Duration {
	if s.Reason == ReasonCostExceedsLimit {
		return 1<<63 - 1
	}
	return s.RetryAfter
}
