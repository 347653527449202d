package limiter

import "weir/limiter/store"

// Ledger is what the engine needs to know of quotas beyond its region's store.
// Its methods are called on the path of every check that meets a quota, from
// many goroutines, and must not block.
type Ledger interface {
	// View names the row of a take, which is its ID, and fills in Elsewhere and
	// Earlier from what this node knows. It returns false when the row cannot be
	// counted: the node holds as many as it may and this one is new.
	View(take *store.QuotaTake) bool
	// Record takes in what the store answered: take.Entry and RegionNet, and
	// that the store now holds take.Earlier.
	Record(take *store.QuotaTake)
}
