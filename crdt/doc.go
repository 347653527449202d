// Package crdt holds the replicated state of global quotas as plain values:
// PN-counters whose entries have one writer each.
//
// # Laws
//
// An [Entry] is what one [Replica] counted. It has exactly one writer, which
// only ever raises its counts, and raises Version with every change.
// Merging takes, replica by replica, the entry with the higher version; should
// two entries bear the same version and different numbers (only corruption
// does that), it takes the larger of each number. So merging is a join:
//
//   - idempotent: merging what is known changes nothing;
//   - commutative and associative: neither the order of messages nor how they
//     were bundled matters;
//   - inflationary: no version ever falls, no replica is ever forgotten.
//
// Beside what it counted, an entry says what its region gave to others: a gift
// is deducted by the entry that names it, so nobody can receive what was not
// given up, and the regions' rights and the value always sum to what was shared
// out and granted ([Row.Rights]).
//
// A row is therefore blind to loss, reordering and duplication, and needs no
// tombstones: its period is part of its name, and ends by dropping the row
// whole.
//
// # What is absent
//
// The package knows no clock, no input or output, no wire format and no
// goroutine. Nothing in it is safe for concurrent use; who owns a [Table]
// guards it.
package crdt
