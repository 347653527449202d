package limiter

import "sync/atomic"

// RefundState is what became of a refund.
type RefundState uint8

// The states of a refund.
const (
	// Refunded: units were given back.
	Refunded RefundState = iota + 1
	// Already: nothing is left to give back.
	Already
	// Ended: the period is over, the row was reset, or its store began a new
	// reign: nothing was changed.
	Ended
	// Forwarded: another region charged and gets the receipt, unread.
	Forwarded
)

func (s RefundState) String() string {
	return [...]string{"", "refunded", "already", "ended", "forwarded"}[s]
}

// Refund is the answer to a receipt. State is the first of Refunded, Already and
// Ended that is true of a quota, or Forwarded. Where an error says that the store
// did not answer, the states of which nothing is known are 0.
type Refund struct {
	State  RefundState
	Region string // that gave the receipt
	Quotas []RefundedQuota
}

// RefundedQuota is one quota's part in a refund.
type RefundedQuota struct {
	Rule, Key string
	Units     int64 // given back now
	State     RefundState
}

type refundCounts struct {
	refunded, already, ended, forwarded, refused, failed atomic.Uint64
	units                                                atomic.Int64
}

// RefundCounts are the quotas' parts in refunds, by what became of them, since
// the start. Refused are receipts that were none, Failed refunds of which the
// store did not answer.
type RefundCounts struct {
	Refunded, Already, Ended, Forwarded, Refused, Failed uint64
	Units                                                int64
}

// Counts says what became of refunds.
func (r *Refunds) Counts() RefundCounts {
	c := &r.counts
	return RefundCounts{Refunded: c.refunded.Load(), Already: c.already.Load(), Ended: c.ended.Load(),
		Forwarded: c.forwarded.Load(), Refused: c.refused.Load(), Failed: c.failed.Load(), Units: c.units.Load()}
}

// count counts a refund and writes its state.
func (r *Refunds) count(out *Refund, err error) {
	out.State = Ended
	for _, q := range out.Quotas {
		out.State = min(out.State, q.State)
		switch q.State {
		case Refunded:
			r.counts.refunded.Add(1)
			r.counts.units.Add(q.Units)
		case Already:
			r.counts.already.Add(1)
		case Ended, Forwarded:
			r.counts.ended.Add(1)
		}
	}
	if err != nil {
		r.counts.failed.Add(1)
	}
}
