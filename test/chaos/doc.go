// Package chaos holds tests of whole nodes under faults: three regions, each in
// a network namespace of its own with a Redis server and two nodes, and clients
// that keep a ledger of every answer. A nemesis, replayable from its seed, cuts
// the network and kills processes; what checks the outcome knows nothing of how
// the nodes work.
//
// What must hold of every quota key and every region's part of it, once a fault
// is over: the nodes of all regions show the same, at least what clients were
// told was allowed, and at most that and the calls whose answer was lost. While
// it lasts: regions that are cut off go on deciding without an error, and are
// said to be cut off.
//
// It needs root. SEED=N replays a schedule of faults, -short is a few of them,
// CHAOS_REPORT=FILE is where the report goes.
package chaos
