// Package gossip replicates quota rows between nodes.
//
// # The core
//
// [Core] is the protocol: messages, ticks and local news go in, messages come
// out. It has no goroutine, socket, clock or global source of randomness, so
// that the same code runs under memberlist ([Mesh]) and in a simulator that
// replays from a seed. It works in pieces of less than a tenth of a millisecond
// ([Core.Next], [Core.Step]), between which its owner lets checks in.
//
//   - News travels as deltas. With every tick, each row that changed goes once,
//     many to a frame, to one node of every other region and up to three of the
//     own one. What was new to the receiver is news there and travels on. One of
//     the three is always the next in the ring of the region's names: so news
//     reaches every node of a region of any size, chance only makes it fast.
//   - A delta is the row's ID and the numbers of the entry that changed, under 32
//     bytes. In its first second a row's name goes with it; who lacks a name asks
//     for the row.
//   - What was missed is noticed by the receiver. Frames from one node to
//     another are numbered; a gap that does not close, or a new stream of
//     frames from a node one already heard, means that something was lost, and
//     the receiver begins a session with that node. It begins one with every
//     peer when it appears, and with all others when a node of its own region
//     goes: what they told that node alone went with it. They, in turn, begin new
//     streams to the rest of its region when they miss it.
//   - A link may be dead while both its ends live, and then the receiver hears of
//     nothing. So when a frame fails, the sender tells what that peer was told of
//     late to another node of its region, which passes it on; and a node that
//     does not hear a member of its region begins a session with another peer,
//     every ten seconds: it may miss what was told to the silent one alone.
//   - Every peer gets a frame twice a second, also when there is no news. Frames
//     carry, for every region, the age of the newest state heard of it. Ages are
//     taken on one clock each and never compared across clocks; a stamp says
//     which of two states is newer.
//
// # Sessions
//
// A session finds what two nodes have not in common, and heals both. Rows are
// grouped by period, by the first 8 bits of their ID and by the first 16; of each
// group a digest is kept ([weir/crdt]). The asker drives:
//
//	asker: digests of its periods        peer: group digests of those that differ
//	asker: groups that differ            peer: digests of their leaves
//	asker: what it has in leaves that    peer: rows that are not so, and which it
//	       differ, 6 bytes a row               lacks
//	asker: rows that the peer lacks, or has less of
//
// Few requests are open at a time, each is answered by one frame at most, and
// answers are paced by what a peer gets with a tick and by what the transport
// takes. What differs is compared again before it is asked for, so that sessions
// with several peers share the work. A request that is lost is made again, a
// session that stands still is begun anew. Digests are cut to 32 bits, by another
// key in each session: what is missed by chance, the next finds. Every ten seconds
// or so a node begins a session with some peer for no reason.
//
// A frame of a session is answered at once, not with the next tick.
//
// What a session brought is told on as news, unless it is much: then other peers
// are made to look for themselves.
//
// # Exchanges
//
// Before a node calls its store in a reign that is new to it, it holds a session
// with every other node of its region ([Mesh.Exchange]). Who begins an exchange or
// is asked for one enters a new epoch: replies of the store to calls made in an
// earlier one are lost ([Mesh.RecordAt]).
//
// # Splits
//
// How rights are shared out ([crdt.Splits]) is known to all nodes. Every frame
// carries a digest of what its sender knows; who sees that a peer has another
// tells it all, at once and twice a second until the digests are the same. A
// node's first session has ended only once it knows what its peers have shown to
// know.
//
// # Gifts
//
// A gift that others heard of must not be forgotten. Until this node's disk holds
// it ([Mesh.MarkDurable]), others are told the entry as it was before; all of it only
// in an exchange.
//
// # Guarantees
//
// Whatever is lost, delayed, reordered or repeated, rows only grow, and nodes
// that can exchange messages come to hold the same rows. A frame that does not
// decode has no effect. Rows of ended periods are neither accepted nor sent.
//
// # Limits
//
// A gap is noticed at the first frame that follows it, and repair begins a second
// later. An age tells when a region was last heard, not that every row it then had
// has arrived: rows in a frame that was lost come with the repair. Where the link
// between two nodes of a region is dead, news told to one alone reaches the other
// after some ten seconds. A node that is full takes part in repairs of the rows it
// holds, and begins no session for no reason.
package gossip
