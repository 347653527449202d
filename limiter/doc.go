// Package limiter decides one check: which rules match, whom they count, and
// whether all their limits have room.
//
// The Engine plans a check into one call to the region's store (package store)
// and reads the answers back. A call is all or nothing: a denied check changes
// no bucket and no quota. What is global about quotas comes in through the
// Ledger; the engine knows nothing of gossip.
package limiter
