package crdt

import (
	"encoding/binary"
	"slices"
)

// packed is the entries of one row in a table: for each the replica's number
// in the table's interner, the version, taken, returned, and how many further
// numbers follow; as uvarints. Further numbers, which few entries have, are
// granted, unmet, and the pairs of a region's number and the units given to it.
// A typical entry takes 9 bytes instead of 80.
type packed []byte

// packedEntry is one entry of a packed row, and where it lies.
type packedEntry struct {
	replica         uint32
	version         uint64
	taken, returned int64
	granted, unmet  int64
	gifts           packed // pairs of region number and units
	further         bool   // there are further numbers

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
	if more := uvarint(); more > 0 {
		e.further = true
		e.granted = int64(uvarint())
		e.unmet = int64(uvarint())
		begin := at
		for range more - 2 {
			uvarint()
		}
		e.gifts = p[begin:at]
	}
	e.from, e.to = from, at
	return e, true
}

// pair decodes one gift of an entry; ok is false at the end.
func (p packed) pair(from int) (region uint32, units int64, next int, ok bool) {
	if from >= len(p) {
		return 0, 0, from, false
	}
	v, n := binary.Uvarint(p[from:])
	u, m := binary.Uvarint(p[from+n:])
	return uint32(v), int64(u), from + n + m, true
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

// appendPacked packs an entry. number names the regions it gave to.
func appendPacked(b []byte, replica uint32, e Entry, number func(region string) uint32) []byte {
	b = binary.AppendUvarint(b, uint64(replica))
	b = binary.AppendUvarint(b, e.Version)
	b = binary.AppendUvarint(b, uint64(e.Taken))
	b = binary.AppendUvarint(b, uint64(e.Returned))
	if e.Granted == 0 && e.Unmet == 0 && e.Gifts == "" {
		return append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(2+2*e.Gifts.Len()))
	b = binary.AppendUvarint(b, uint64(e.Granted))
	b = binary.AppendUvarint(b, uint64(e.Unmet))
	for region, units := range e.Gifts.All() {
		b = binary.AppendUvarint(b, uint64(number(region)))
		b = binary.AppendUvarint(b, uint64(units))
	}
	return b
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
