// Package sim runs the real replication core under a hostile network, in
// virtual time and in one thread: the same seed gives the same run, event by
// event.
//
// A run has two or three regions of one or two nodes. Each region has a toy store whose entry
// grows with every decision, and nodes that tell their core of it. Frames are
// lost (with and without word to the sender), delayed, overtaken, repeated and
// garbled; links break in one direction or both, within partitions too; nodes
// die and come back with their snapshot, an old one or none; stores are wiped
// and begin a new reign. Then everything heals but for one link, maybe, and within a bounded time all
// nodes must agree with the ledger.
//
// The ledger is kept outside the code under test. It knows two bounds of every
// replica: what was ever counted, and what of that at least one store, node or
// snapshot has known ever since. Rows must end between the two, and where
// nothing was forgotten the two are one.
//
// Run one seed with its trace:
//
//	go test ./test/sim -run TestSchedules -seed 17 -events events.txt
package sim
