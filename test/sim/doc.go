// Package sim runs the real parts of global quotas together under a hostile
// world, in virtual time and in one thread: the same seed gives the same run,
// event by event.
//
// Real are the replication core (gossip.Core), the ledger over it, the rule by
// which a store decides (quota.Row) and the policy that gives. Made up are what
// they stand on: the network between nodes, the processes with their clocks and
// disks, and each region's store, which keeps a marker, rows, leases, request
// ids and receipts as the scripts do, and is wiped, set back, doubled, cut off
// and slow.
//
// A run has two to four regions of one to three nodes, a few quotas and an
// overshoot. Its plan is drawn from the seed: which kinds of faults there are,
// and what else there is to do (leases, refunds, grants, a next split). Then
// everything heals but for one link, maybe, and within a bounded time all nodes
// must agree with the truth.
//
// The truth is kept outside the code under test. It knows what clients were told
// and gave back, every entry that was ever written, and who knew it when. From
// that come the bound, Σ allowed ≤ ⌊Q + ε⌋, and what the faults of a run excuse
// beyond it: what was known only to nodes that are gone or to a lost copy of a
// store, and, for each second master, what its region had left or received
// meanwhile. A run without such faults is excused nothing.
//
// Run one seed with its trace:
//
//	go test ./test/sim -run TestSchedules -seed 17 -events events.txt
package sim
