package api

import (
	"strings"
	"testing"

	"weir/limiter"
	weirv1 "weir/proto/weir/v1"
)

// TestEnumsMatch: the engine's enums and the API's stand in the same order.
func TestEnumsMatch(t *testing.T) {
	for _, r := range limiter.Reasons {
		if got, want := reason(r).String(), "REASON_"+strings.ToUpper(r.String()); got != want {
			t.Errorf("reason %v is %v in the API", r, got)
		}
	}
	if got, want := len(limiter.Reasons)+1, len(weirv1.Reason_name); got != want {
		t.Errorf("the engine has %d reasons, the API %d", got, want)
	}
	for _, s := range []limiter.RefundState{limiter.Refunded, limiter.Already, limiter.Ended, limiter.Forwarded} {
		if got, want := refundState(s).String(), "REFUND_STATE_"+strings.ToUpper(s.String()); got != want {
			t.Errorf("refund state %v is %v in the API", s, got)
		}
	}
	for _, d := range []limiter.DecidedBy{limiter.DecidedByStore, limiter.DecidedByClosed, limiter.DecidedByNoRule, limiter.DecidedByLease} {
		if got, want := decidedBy(d).String(), "DECIDED_BY_"+strings.ToUpper(d.String()); got != want {
			t.Errorf("decided by %v is %v in the API", d, got)
		}
	}
	if weirv1.LimitKind(limiter.KindBucket) != weirv1.LimitKind_LIMIT_KIND_BUCKET || weirv1.LimitKind(limiter.KindQuota) != weirv1.LimitKind_LIMIT_KIND_QUOTA {
		t.Error("the kinds of limits differ")
	}
}
