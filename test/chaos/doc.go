// Package chaos holds tests of whole nodes under faults: three regions, each in
// a network namespace of its own with a Redis server and two nodes, and clients
// that keep a ledger of every answer. A nemesis, replayable from its seed, cuts
// the network between regions and within them, kills, freezes and replaces
// processes, fills disks, and takes from Redis what it holds. What checks the
// outcome knows nothing of how the nodes work.
//
// What must hold of every quota key in every period:
//
//   - All regions together allow no more than the quota, its overshoot, and what
//     the faults that happened are known to cost: what nodes had told nobody
//     when they were lost together with their Redis, and what a region with two
//     Redis masters had rights to.
//   - Once a fault is over, the nodes of all regions show the same within 5 s,
//     at least what clients were told was allowed, and at most that, the calls
//     whose answer was lost, and what nodes had taken ahead of use.
//   - From then on no region is denied for want of rights for over 2 s while
//     enough is left beyond what others may keep.
//   - Regions that are cut off go on deciding without an error, and are said to
//     be cut off. No call of a node that runs goes unanswered.
//
// Every checker has tests of its own with made-up ledgers, in which it fails.
//
// It needs root. -for=10m is how long faults are injected, -seed=N (or SEED=N)
// replays those of one seed, -short is a little of two fixed seeds and one by
// chance, -only=REGEXP leaves out faults of other names, -weir=FILE runs a binary that there is, and CHAOS_REPORT=FILE.md is
// where the report goes, with a picture beside it.
package chaos
