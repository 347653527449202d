package limiter

import "weir/limiter/store"

// Ledger is what the engine needs to know of quotas beyond its region's store.
// Its methods are called on the path of every check that meets a quota, from
// many goroutines, and must not block.
type Ledger interface {
	// View fills a take's Elsewhere and Earlier from what this node knows.
	View(take *store.QuotaTake)
	// Record takes in what the store answered: take.Entry and RegionNet, and
	// that the store now holds take.Earlier.
	Record(take *store.QuotaTake)
}
