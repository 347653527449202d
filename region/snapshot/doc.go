// Package snapshot keeps quota rows in one bbolt file, so that a node that
// starts again knows what it had counted.
//
// # Basics
//
// Open the file once, Load every row and LoadSplits before the node is ready,
// Save changed rows and SaveSplits now and then, DropEnded when periods end, Close. A row is written whole
// and replaces what stood under its name; a call may be repeated.
//
// # Format
//
// The bucket "meta" holds the format version and, as a row is kept, how rights
// are shared out (weir.wire.v1.Splits). Every period end has a bucket of its own,
// named "p" and the end in Unix seconds (big-endian, sign bit flipped), so that an
// ended period is dropped whole. In it a row stands under
// the first 16 bytes of a SHA-256 of its name. Its value is a CRC-32C of period,
// key and row, then the row as protobuf (weir.wire.v1.Row). bbolt itself has no
// checksums on data pages, and a counter that comes back larger than it was
// would spread to every region and stay.
//
// # Damage
//
// Open reads the whole page tree before bbolt maps it: bbolt answers damaged
// pages with panics, page faults or endless loops. A damaged file is renamed to
// NAME.corrupt-UNIXTIME and a fresh one begun; the node fills itself from its
// peers. The newest setAsideMax damaged files are kept. A file of a newer format
// or of another program is refused and left as it is. A single damaged row is
// counted and left out; damaged splits are an error of LoadSplits.
//
// # Caveats
//
// The file does not shrink: room that was freed is used again. Random rows cost
// a page of 4 KiB each to write, whatever their size.
package snapshot
