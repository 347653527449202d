// Package embedded is the store of a region that is one node without Redis: it
// decides in process, with the same rules and answers as the one in Redis.
//
// Buckets lie in flat tables without pointers, so that the garbage collector
// has nothing to walk. State is bounded, but only what equals a fresh start, a
// full bucket or a row whose period is over, is ever dropped: each new entry
// pays for looking at a few others, and there is no sweep. Past the bound a new
// bucket is let through uncounted and a new quota row is denied.
package embedded
