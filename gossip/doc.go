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
//   - What was missed is noticed by the receiver. Frames from one node to
//     another are numbered; a gap that does not close, or a new stream of
//     frames from a node one already heard, means that something was lost, and
//     the receiver asks that node for all rows. It asks every peer when it
//     appears, and all others when a node of its own region goes: what they told
//     that node alone went with it. They, in turn, begin new streams to the rest
//     of its region when they miss it.
//   - A link may be dead while both its ends live, and then the receiver hears of
//     nothing. So when a frame fails, the sender tells what that peer was told of
//     late to another node of its region, which passes it on; and a node that
//     does not hear a member of its region asks another peer for all rows, every
//     ten seconds: it may miss what was told to the silent one alone.
//   - An answer goes out in parts, paced by what the receiver takes.
//   - Every peer gets a frame twice a second, also when there is no news. Frames
//     carry, for every region, the age of the newest state heard of it. Ages are
//     taken on one clock each and never compared across clocks; a stamp says
//     which of two states is newer.
//
// # Guarantees
//
// Whatever is lost, delayed, reordered or repeated, rows only grow, and nodes
// that can exchange messages come to hold the same rows. A frame that does not
// decode has no effect. Rows of ended periods are neither accepted nor sent.
//
// # Limits
//
// A repair sends all rows but for those of a failed frame: its cost is the table,
// not the difference. A gap is noticed at the first frame that follows it, and
// repair begins a second later. An age tells when a region was last heard, not
// that every row it then had has arrived: rows in a frame that was lost come with
// the repair. Where the link between two nodes of a region is dead, news told to
// one alone reaches the other after some ten seconds.
package gossip
