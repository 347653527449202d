// Package redis is the store of a region of any number of nodes: Redis decides,
// by one script on its own clock.
//
// # Layout
//
// Every key begins with "weir:{ttt}", ttt being the hash tag of the subject in
// three hex digits, so that all keys of one subject can be decided in one
// script.
//
//	weir:{3ff}b7f       hash of many buckets: raw 16-byte ID → state
//	weir:{3ff}q<32 hex> hash, one quota row: its name, and an entry per reign
//	weir:{3ff}reign     the reign of the data under this tag, and the run of the
//	                    server it was opened in
//
//	weir:region         the region whose state this is
//
// Buckets share 131 072 small hashes, chosen by tag and 7 bits of the ID,
// because no key of its own takes less than 145 bytes. Redis 7.0 has no expiry
// for a hash's field: every state begins with the instant from which it equals a
// full bucket, a new field pays for looking at three others, and the whole hash
// expires after its last. Only the markers and the region's name never expire.
//
// # Guarantees
//
// A call is decided in one round trip and never repeated once it may have been
// applied: MaxRetries is −1. Only what the server refused before the script
// began (NOSCRIPT), or what was never sent, is asked again.
//
// A connection lives within one run of the server. Each new one asks for the
// run's ID before its first use; if it is not the one the reign was opened in,
// the data may be behind, and nothing is decided until a reign has been opened
// for it. An earlier reign's entry is never written again.
//
// # Caveats
//
// Redis must not evict: with a maxmemory, any policy but noeviction resets
// limits silently. The store warns and says so in Health.
package redis
