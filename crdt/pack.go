package crdt

import (
	"encoding/binary"
	"slices"
)

// packed is the entries of one row in a table: for each the replica's number
// in the table's interner, the version, taken and returned, as uvarints. A
// typical entry takes 8 bytes instead of 48.
type packed []byte

// packedEntry is one entry of a packed row, and where it lies.
type packedEntry struct {
	replica         uint32
	version         uint64
	taken, returned int64

	from, to int // its bytes in the packed row
}

// next decodes the entry that begins at from; ok is false at the end.
func (p packed) next(from int) (e packedEntry, ok bool) {
	if from >= len(p) {
		return packedEntry{}, false
	}
	at := from
	uvarint := func() uint64 {
		v, n := binary.Uvarint(p[at:])
		at += n
		return v
	}
	e.replica = uint32(uvarint())
	e.version = uvarint()
	e.taken = int64(uvarint())
	e.returned = int64(uvarint())
	e.from, e.to = from, at
	return e, true
}

// find returns the entry of a replica.
func (p packed) find(replica uint32) (e packedEntry, found bool) {
	for e, ok := p.next(0); ok; e, ok = p.next(e.to) {
		if e.replica == replica {
			return e, true
		}
	}
	return packedEntry{}, false
}

func appendPacked(b []byte, replica uint32, e Entry) []byte {
	b = binary.AppendUvarint(b, uint64(replica))
	b = binary.AppendUvarint(b, e.Version)
	b = binary.AppendUvarint(b, uint64(e.Taken))
	return binary.AppendUvarint(b, uint64(e.Returned))
}

// splice replaces b[from:to] by with, growing by no more than the next
// multiple of 16: doubling would waste half of a million small rows.
func splice(b []byte, from, to int, with []byte) []byte {
	need := len(b) - (to - from) + len(with)
	if need > cap(b) {
		grown := make([]byte, len(b), (need+15)&^15)
		copy(grown, b)
		b = grown
	}
	return slices.Replace(b, from, to, with...)
}
