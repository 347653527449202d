// Package model checks the laws of global quotas by walking every interleaving of
// small worlds. It is a second implementation of the laws, written from their
// description and from nothing else: it shares no code with what it checks, and
// the standard library is all it needs.
//
// # What is modelled
//
// One quota row in one period, Q of 2 to 4 units and ε of 0 or 1, in up to three
// regions of one to three nodes. A region's store holds a marker (a claim or a reign)
// and the region's replicas, merged one by one. There may be another copy of it:
// frozen, to be failed over to, or a second master that goes on deciding. A node
// has the entries it knows, those it has fsynced, the reign it is caught up with,
// one call that is outstanding or unresolved, and one lease. Calls are sent,
// applied, and answered as separate steps; a reply may be lost, or be late because
// an exchange came between. Nodes give, take and return leases, cancel unresolved
// calls, take refunds; they crash and come back with their disks, an older state of
// them, or nothing; stores are wiped, set back, or split in two; reigns are opened
// by claim, exchange and nonce; a node may not answer an exchange; it may decide
// alone under `open`. Splits are changed by acknowledgement, and a period ends.
//
// A ghost ledger (ledger.go) knows what callers were truly told. In every state:
//
//   - bound: Σ allowed, less what was given back, is at most Q + ε and what the
//     faults of this path excuse. A store is excused for what only nodes knew that
//     did not answer or crashed, for gifts that only a copy held, and for what a
//     process counts by itself; a second master for the rights its region had left
//     at the fork or received since. It is excused only while it has not been told.
//   - rights: no region is overdrawn by more than that. This is stronger, and is
//     asked of lawful worlds only.
//   - value: what was allowed or is leased is in some row, unless only the memory
//     of a crashed node held it.
//   - equal: one version of a replica has the same numbers wherever it is, so that
//     all nodes are equal once everything is delivered, in any order.
//
// # What the walk added to the laws
//
// Each of these began as a counterexample, and is a mutant now. A node tells its
// region-mates of a gift, outside of an exchange, only once it has fsynced it: a
// late message may otherwise bring back a gift that a crash forgot, after a reign
// was opened without it. When a node crashes before it has answered an opening's
// exchange, those who had answered are asked again: it may have told one of them in
// between. A region's acknowledgement of a split is made of fsynced pledges by each
// of its nodes: what one node acknowledges for all can be forgotten with it and the
// store, when others already rest on it.
//
// # What is left out
//
// Time: deadlines, leases of names, the grace of a period and skew appear only as
// orders of events. One unit a check; two a lease. The choice of who gives and how
// much: any node may ask to give 1 or 2 more to anyone. Operators' grants,
// generations, freezing, idempotency keys and `overshoot: unbounded`. A call in
// flight dies with its sender, and a node has one call at a time. An exchange before
// a first call is one step. A row is untold when a reign is opened, which covers opening it with rows.
//
// Without Config.Gossip, messages between regions are not part of the state: a
// node that calls knows every gift that ever left its region, and nothing that
// other regions took. Any message may come at any later time, entries only grow,
// and neither bound rests on knowing what others took, so every walk with messages
// is allowed no more than such a walk. Worlds with Config.Gossip carry entries one
// by one instead, at once or as messages that come late, again, or never.
//
// Nodes of a region are alike: states that differ in their names are one. A state
// is remembered as a hash of 128 bits.
//
// # Reading a trace
//
// A trace is a shortest path to a broken law. "node A2" is the second node of
// region A, "reign A.2" the second replica that region's store opened. "v3 P=2 N=1
// given=[0 1 0]" is an entry: version 3, 2 units taken, 1 returned, 1 given to
// region B. A label such as "2x1 Q=2 reigns=2 checks=3 gifts=1 wipes=1" is two
// regions of one node, and how often each thing may happen on a path.
//
//	go test ./test/model                     # seconds
//	go test ./test/model -run TestExhaustive -model.large -timeout 3h -v
package model
