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
//	weir:{3ff}l<32 hex> hash, the row's leases that are out, by node
//	weir:{3ff}f<32 hex> hash, the receipts refunded of the row
//	weir:{3ff}c<slot>   hash, the calls that charged quotas in 10 s of the
//	                    caller's clock: raw 16-byte request → whether it stands
//	weir:{3ff}reign     the reign of the data under this tag, the run of the
//	                    server it was opened in, and the version of the split;
//	                    or the claim of who is opening one
//
//	weir:region         the region whose state this is
//	weir:secret         what its receipts are authenticated with
//	weir:split          how the rights of quotas are shared out among regions, as
//	                    text, see splits.go
//
// Buckets share 131 072 small hashes, chosen by tag and 7 bits of the ID,
// because no key of its own takes less than 145 bytes. Redis 7.0 has no expiry
// for a hash's field: every state begins with the instant from which it equals a
// full bucket, a new field pays for looking at three others, and the whole hash
// expires after its last. A row, its leases and its receipts end a minute after
// its period, calls 90 s after the first of their slot: at 24 bytes a call where
// few share a hash, at 91 where more than 128 do. Only the markers and what
// belongs to the region never expire.
//
// # Guarantees
//
// A call is decided in one round trip and never repeated once it may have been
// applied: MaxRetries is −1. Only what the server refused before the script
// began (NOSCRIPT), or what was never written to a connection, is asked again.
//
// What a call charged its quotas goes back, once, if its answer did not come
// within the budget, came late by a clock that runs through suspension, or is
// not believed ([Store.Cancel]): as soon as the server answers, in the same
// reign, within a minute. If such a call was not charged it is marked, so that it
// is refused should it still be under way. The charge stands if this process
// ends first, if the call waited longer than a minute, or if clocks of nodes and
// server differ by more than 10 s. On buckets it always stands.
//
// A connection lives within one run of the server. Each new one asks for the
// run's ID before its first use; if it is not the one the reign was opened in,
// the data may be behind, and nothing is decided until a reign has been opened
// for it. An earlier reign's entry is never written again.
//
// Where the marker is gone, or of another run, a reign is opened: by a claim,
// then an exchange between the region's nodes ([Options.Exchange]), then the
// marker in place of the claim, if it is still there. No script touches a quota
// under a claim. A claim left behind is replaced after some 1.5 s, with an
// exchange anew. No node uses a reign before an exchange of its own that began
// when nobody could use the one before.
//
// Buckets rest on no reign: where the data was lost they start full, once.
//
// # Caveats
//
// Redis must not evict: with a maxmemory, any policy but noeviction resets
// limits silently. The store warns and says so in Health.
package redis
