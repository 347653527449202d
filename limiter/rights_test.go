package limiter

import (
	"testing"
	"time"
)

// TestRightsRunOutBeforeTheQuota: enough is left, and this region may not let it
// through: the client is told to come back soon, and how much is left.
func TestRightsRunOutBeforeTheQuota(t *testing.T) {
	b := newBench(t)
	b.ledger.allotted = 3
	if d := b.check(3, "user", "u"); !d.Allowed {
		t.Fatalf("with rights: %+v", d)
	}
	d := b.check(1, "user", "u")
	if d.Allowed || d.Reason != ReasonQuotaRightsExhausted || d.RetryAfter != 300*time.Millisecond || d.Remaining != 2 {
		t.Errorf("without rights: %+v", d)
	}
	if b.ledger.refused != 1 {
		t.Error("the ledger was not told of the refusal")
	}
	if last := b.ledger.recorded[len(b.ledger.recorded)-1]; last.Entry.Unmet != 1 {
		t.Errorf("the entry tells of no want: %+v", last.Entry)
	}
	b.ledger.allotted = 5
	if d := b.check(2, "user", "u"); !d.Allowed {
		t.Errorf("after a gift: %+v", d)
	}
	if d := b.check(1, "user", "u"); d.Allowed || d.Reason != ReasonQuotaExhausted || d.RetryAfter != d.UntilReset {
		t.Errorf("with nothing left: %+v", d)
	}
}

// TestADisbelievedAnswerIsLost: the check is denied and its charge goes back.
func TestADisbelievedAnswerIsLost(t *testing.T) {
	b := newBench(t)
	b.ledger.disbelieve = 1
	if d := b.check(2, "user", "u"); d.Allowed || d.Reason != ReasonStoreUnavailable {
		t.Errorf("an answer not believed: %+v", d)
	}
	if b.engine.Disbelieved() != 1 {
		t.Errorf("%d were counted", b.engine.Disbelieved())
	}
	if d := b.check(0, "user", "u"); d.Remaining != 5 {
		t.Errorf("the charge stands: %+v", d)
	}
}
