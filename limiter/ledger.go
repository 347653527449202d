package limiter

import (
	"time"

	"weir/limiter/store"
)

// Ledger is what the engine needs to know of quotas beyond its region's store.
// Its methods are called on the path of every check that meets a quota, from
// many goroutines, and must not block.
type Ledger interface {
	// View names the row, which is its ID, and fills in Elsewhere, Allotted,
	// Earlier and Epoch from what this node knows. It returns false when the row
	// cannot be counted: the node holds as many as it may and this one is new.
	View(q *store.QuotaRow) bool
	// Mark says whether a refusal for want of rights is to be noted.
	Mark(q *store.QuotaRow) bool
	// Record takes in what the store answered: the row's Entry, and that the
	// store now holds Earlier. It returns false when the answer must be taken for
	// lost: an exchange with other nodes has come between.
	Record(q *store.QuotaRow) (believed bool)
	// Refused notes that the row was refused for want of rights.
	Refused(q *store.QuotaRow)
	// RightsWait is how long a client should wait that was refused for want of
	// rights: short while regions that hold rights are in touch, honest about
	// the cut when they are not.
	RightsWait(q *store.QuotaRow) time.Duration
}
