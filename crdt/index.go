package crdt

import (
	"encoding/binary"
	"slices"
	"sort"
)

// indexParts is how many parts an index has, by the first 12 bits of the ID. A
// part is a sorted list: a million rows make parts of 250, which an insertion
// moves in well under a microsecond, and no growth copies more than one part.
const indexParts = 1 << 12

// index finds rows by ID, and all whose IDs share their first 16 bits. It takes
// some 10 bytes a row.
type index struct {
	parts [][]ref
	len   int
}

// ref is one row: the 32 bits of its ID that follow those of its part, and its
// place.
type ref struct {
	tail  uint32
	place uint32
}

func newIndex() index { return index{parts: make([][]ref, indexParts)} }

// split cuts an ID into the number of its part and the tail of its ref.
func split(id RowID) (part int, tail uint32) {
	head := binary.BigEndian.Uint64(id[:8])
	return int(head >> 52), uint32(head >> 20)
}

// lower returns the first ref of a part whose tail is not below tail. IDs are
// spread evenly, so it looks first where the tail should be.
func lower(refs []ref, tail uint32) int {
	const near = 16
	lo, hi := 0, len(refs)
	guess := int(uint64(tail) * uint64(len(refs)) >> 32)
	if from := guess - near; from > 0 {
		if refs[from].tail < tail {
			lo = from
		} else {
			hi = from
		}
	}
	if to := guess + near; to < hi {
		if refs[to].tail < tail {
			lo = to
		} else {
			hi = to
		}
	}
	for lo < hi {
		middle := int(uint(lo+hi) >> 1)
		if refs[middle].tail < tail {
			lo = middle + 1
		} else {
			hi = middle
		}
	}
	return lo
}

// find returns where a row lies.
func (t *Table) find(id RowID) (place uint32, ok bool) {
	part, tail := split(id)
	refs := t.index.parts[part]
	for i := lower(refs, tail); i < len(refs) && refs[i].tail == tail; i++ {
		if t.slot(refs[i].place).id == id {
			return refs[i].place, true
		}
	}
	return 0, false
}

// add puts a row in that the index does not hold: in order of its whole ID.
func (t *Table) addToIndex(id RowID, place uint32) {
	part, tail := split(id)
	refs := t.index.parts[part]
	i := lower(refs, tail)
	for i < len(refs) && refs[i].tail == tail && t.slot(refs[i].place).id.Less(id) {
		i++
	}
	t.index.parts[part] = slices.Insert(refs, i, ref{tail, place})
	t.index.len++
}

func (t *Table) dropFromIndex(id RowID) {
	part, tail := split(id)
	refs := t.index.parts[part]
	for i := lower(refs, tail); i < len(refs); i++ {
		if t.slot(refs[i].place).id == id {
			refs = slices.Delete(refs, i, i+1)
			break
		}
	}
	if len(refs) == 0 {
		refs = nil
	}
	t.index.parts[part] = refs
	t.index.len--
}

// leaf returns the refs of all rows whose IDs begin with these 16 bits, in order
// of ID.
func (x *index) leaf(leaf uint16) []ref {
	refs := x.parts[leaf>>4]
	first := uint32(leaf&0xf) << 28
	from := lower(refs, first)
	rest := refs[from:]
	return rest[:sort.Search(len(rest), func(i int) bool { return rest[i].tail>>28 != first>>28 })]
}

// Less orders IDs as their bytes are.
func (id RowID) Less(other RowID) bool {
	a, b := binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(other[:8])
	if a != b {
		return a < b
	}
	return binary.BigEndian.Uint64(id[8:]) < binary.BigEndian.Uint64(other[8:])
}
