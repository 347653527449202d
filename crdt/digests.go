package crdt

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Span is the period of rows, whatever their rule: [Start, End) in Unix seconds.
type Span struct{ Start, End int64 }

// Compare orders spans by end, then start.
func (s Span) Compare(other Span) int {
	return cmp.Or(cmp.Compare(s.End, other.End), cmp.Compare(s.Start, other.Start))
}

// digests are those of the rows of one span: of all, of each group of rows whose
// IDs share the first 8 bits, and of each leaf, whose IDs share the first 16.
// What has no rows has digest 0. They take what the leaves in use do: at most
// 550 KiB.
type digests struct {
	rows   int
	all    uint64
	groups []groupDigest // sorted, those with rows
}

type groupDigest struct {
	group  uint8
	digest uint64
	leaves leafDigests
}

// leafDigests are those of one group: few of them in a sorted list, many in an
// array.
type leafDigests struct {
	few  []leafDigest
	many *[256]uint64
}

type leafDigest struct {
	leaf   uint8
	digest uint64
}

// maxFewLeaves is where a list takes half of what the array does.
const maxFewLeaves = 64

// flip puts a hash in, or takes it out.
func (d *digests) flip(id *RowID, hash uint64) {
	d.all ^= hash
	i, found := d.group(id[0])
	if !found {
		d.groups = slices.Insert(d.groups, i, groupDigest{group: id[0]})
	}
	g := &d.groups[i]
	g.digest ^= hash
	g.leaves.flip(id[1], hash)
	if g.leaves.many == nil && len(g.leaves.few) == 0 {
		d.groups = slices.Delete(d.groups, i, i+1)
	}
}

func (l *leafDigests) flip(leaf uint8, hash uint64) {
	if l.many != nil {
		l.many[leaf] ^= hash
		return
	}
	i, found := slices.BinarySearchFunc(l.few, leaf, func(d leafDigest, want uint8) int { return int(d.leaf) - int(want) })
	switch {
	case !found && len(l.few) == maxFewLeaves:
		l.many = new([256]uint64)
		for _, d := range l.few {
			l.many[d.leaf] = d.digest
		}
		l.few = nil
		l.many[leaf] ^= hash
	case !found:
		l.few = slices.Insert(l.few, i, leafDigest{leaf, hash})
	case l.few[i].digest == hash:
		l.few = slices.Delete(l.few, i, i+1)
	default:
		l.few[i].digest ^= hash
	}
}

// Spans appends to dst the spans of which the table holds rows, in order.
func (t *Table) Spans(dst []Span) []Span {
	from := len(dst)
	for span := range t.spans {
		dst = append(dst, span)
	}
	slices.SortFunc(dst[from:], Span.Compare)
	return dst
}

// SpanDigest is the digest of a span's rows; 0 if there are none.
func (t *Table) SpanDigest(span Span) uint64 {
	if d := t.spans[span]; d != nil {
		return d.all
	}
	return 0
}

// GroupDigests are those of the groups of a span.
func (t *Table) GroupDigests(span Span, dst *[256]uint64) {
	clear(dst[:])
	if d := t.spans[span]; d != nil {
		for _, g := range d.groups {
			dst[g.group] = g.digest
		}
	}
}

// LeafDigests are those of the leaves of a group.
func (t *Table) LeafDigests(span Span, group uint8, dst *[256]uint64) {
	clear(dst[:])
	l := t.leavesOf(span, group)
	switch {
	case l == nil:
	case l.many != nil:
		*dst = *l.many
	default:
		for _, d := range l.few {
			dst[d.leaf] = d.digest
		}
	}
}

// GroupDigest is that of one group.
func (t *Table) GroupDigest(span Span, group uint8) uint64 {
	if d := t.spans[span]; d != nil {
		if i, found := d.group(group); found {
			return d.groups[i].digest
		}
	}
	return 0
}

// LeafDigest is that of the rows whose IDs begin with these 16 bits.
func (t *Table) LeafDigest(span Span, leaf uint16) uint64 {
	l := t.leavesOf(span, uint8(leaf>>8))
	switch {
	case l == nil:
	case l.many != nil:
		return l.many[uint8(leaf)]
	default:
		for _, d := range l.few {
			if uint16(d.leaf) == leaf&0xff {
				return d.digest
			}
		}
	}
	return 0
}

func (t *Table) leavesOf(span Span, group uint8) *leafDigests {
	d := t.spans[span]
	if d == nil {
		return nil
	}
	i, found := d.group(group)
	if !found {
		return nil
	}
	return &d.groups[i].leaves
}

// group returns where a group lies, or where it belongs.
func (d *digests) group(group uint8) (i int, found bool) {
	if len(d.groups) == 256 {
		return int(group), true
	}
	return slices.BinarySearchFunc(d.groups, group, func(g groupDigest, want uint8) int { return int(g.group) - int(want) })
}

// LeafRow is a row of a leaf: its ID and digest.
type LeafRow struct {
	ID     RowID
	Digest uint64
}

// Leaf appends to dst the rows of a span whose IDs begin with these 16 bits, in
// order of ID.
func (t *Table) Leaf(dst []LeafRow, span Span, leaf uint16) []LeafRow {
	d := t.spans[span]
	if d == nil {
		return dst
	}
	for _, r := range t.index.leaf(leaf) {
		if s := t.slot(r.place); t.digests[s.period] == d {
			dst = append(dst, LeafRow{s.id, t.rowDigest(s)})
		}
	}
	return dst
}

// RowDigest is that of one row; 0 if there is none.
func (t *Table) RowDigest(id RowID) uint64 {
	place, ok := t.find(id)
	if !ok {
		return 0
	}
	return t.rowDigest(t.slot(place))
}

func (t *Table) rowDigest(s *slot) (d uint64) {
	row := hashID(s.id)
	for e, ok := s.entries().next(0); ok; e, ok = s.entries().next(e.to) {
		d ^= t.digestPacked(row, &e)
	}
	return d
}

// LeafOf is the first 16 bits of an ID.
func LeafOf(id RowID) uint16 { return binary.BigEndian.Uint16(id[:]) }

// SpanOf is the span of a row, and whether the table holds the row.
func (t *Table) SpanOf(id RowID) (Span, bool) {
	place, ok := t.find(id)
	if !ok {
		return Span{}, false
	}
	p := t.periods.value(t.slot(place).period)
	return Span{p.start, p.end}, true
}
