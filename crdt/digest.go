package crdt

import (
	"encoding/binary"
	"math/bits"
)

// A digest is the exclusive or of a hash of every entry it stands for: so it is
// kept by taking out the hash of what an entry was and putting in that of what
// it is, whatever the order of changes. Two tables with equal entries have equal
// digests; with other entries they differ, but for one chance in 2^64.
//
// The hash is that of wyhash's shape: each word is multiplied into the state,
// and the halves of the 128-bit product are folded. Its keys are fixed, for all
// nodes must agree on them. Nobody gains by a collision: row IDs are those of
// SHA-256, and who could choose them would only keep a difference unnoticed
// until the row next changes.
const (
	key0 = 0xa0761d6478bd642f
	key1 = 0xe7037ed1a0b428db
	key2 = 0x8ebc6af09c88c6e3
	key3 = 0x589965cc75374cc3
)

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// hashText digests a name.
func hashText(s string) uint64 {
	h := mix(uint64(len(s))^key2, key3)
	for len(s) > 8 {
		h = mix(h^word(s), key1)
		s = s[8:]
	}
	var last [8]byte
	copy(last[:], s)
	return mix(h^binary.LittleEndian.Uint64(last[:]), key0)
}

func word(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func hashReplica(r Replica) uint64 { return mix(hashText(r.Region)^r.Nonce, key1) }

// hashID begins the hash of a row's entries.
func hashID(id RowID) uint64 {
	return mix(binary.LittleEndian.Uint64(id[:8])^key0, binary.LittleEndian.Uint64(id[8:])^key1)
}

// hashNumbers ends the hash of an entry that has no further numbers.
func hashNumbers(row, replica, version uint64, taken, returned int64) uint64 {
	h := mix(row^replica, key2^version)
	return mix(h^uint64(taken), key3^uint64(returned))
}

// hashFurther takes in what few entries have.
func hashFurther(h uint64, granted, unmet int64) uint64 {
	return mix(h^uint64(granted)^key1, key2^uint64(unmet))
}

// hashGift is taken in by exclusive or, so that no order of regions matters.
func hashGift(region uint64, units int64) uint64 { return mix(region^key3, uint64(units)^key0) }

// Digest is that of a row with these entries, each replica once.
func Digest(id RowID, entries []Entry) (d uint64) {
	row := hashID(id)
	for _, e := range entries {
		d ^= digestEntry(row, e)
	}
	return d
}

func digestEntry(row uint64, e Entry) uint64 {
	h := hashNumbers(row, hashReplica(e.Replica), e.Version, e.Taken, e.Returned)
	if e.Granted == 0 && e.Unmet == 0 && e.Gifts == "" {
		return h
	}
	var gifts uint64
	for region, units := range e.Gifts.All() {
		gifts ^= hashGift(hashText(region), units)
	}
	return hashFurther(h, e.Granted, e.Unmet) ^ mix(gifts, h|1)
}

// digestPacked is digestEntry of a packed one.
func (t *Table) digestPacked(row uint64, e *packedEntry) uint64 {
	h := hashNumbers(row, t.replicaHashes[e.replica], e.version, e.taken, e.returned)
	if !e.further {
		return h
	}
	var gifts uint64
	for region, units, at, ok := e.gifts.pair(0); ok; region, units, at, ok = e.gifts.pair(at) {
		gifts ^= hashGift(t.regionHashes[region], units)
	}
	return hashFurther(h, e.granted, e.unmet) ^ mix(gifts, h|1)
}
