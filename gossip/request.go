package gossip

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"weir/crdt"
	wirev1 "weir/proto/wire/v1"
)

// request is one request of a session, as it came: of spans, groups or leaves.
type request struct {
	session  uint64
	number   uint32
	exchange bool
	reign    uint64 // of the exchange
	all      bool   // asks for what no disk holds, too
	full     bool
	partial  bool
	first    bool

	spans []spanDigest // in order

	span   crdt.Span // of what follows
	groups []byte
	leaves []leafList
	after  crdt.RowID // the first leaf begins after it
}

func (r *request) ofSpans() bool { return len(r.groups) == 0 && len(r.leaves) == 0 }

type spanDigest struct {
	span   crdt.Span
	digest uint64
}

// leafList is what the asker has of a leaf, in order of ID.
type leafList struct {
	leaf  uint16
	marks []rowMark
}

// rowMark stands for a row of a leaf: 16 bits of its ID, those after the leaf's,
// and its digest, folded.
type rowMark struct {
	short  uint16
	digest uint32
}

const rowMarkBytes = 6

func markOf(row crdt.LeafRow, session uint64) rowMark {
	return rowMark{shortID(row.ID), fold(row.Digest, session)}
}

func shortID(id crdt.RowID) uint16 { return binary.BigEndian.Uint16(id[2:]) }

func appendLeaf(b []byte, leaf uint16, rows []crdt.LeafRow, session uint64) []byte {
	b = binary.BigEndian.AppendUint16(b, leaf)
	b = binary.AppendUvarint(b, uint64(len(rows)))
	for _, row := range rows {
		m := markOf(row, session)
		b = binary.BigEndian.AppendUint16(b, m.short)
		b = binary.LittleEndian.AppendUint32(b, m.digest)
	}
	return b
}

func readLeaf(r *packedReader) (l leafList) {
	l.leaf = binary.BigEndian.Uint16(r.bytes(2))
	count := r.uvarint()
	if count > uint64(len(r.b))/rowMarkBytes {
		r.fail(errShort)
		return l
	}
	l.marks = make([]rowMark, count)
	for i := range l.marks {
		b := r.bytes(rowMarkBytes)
		l.marks[i] = rowMark{binary.BigEndian.Uint16(b), binary.LittleEndian.Uint32(b[2:])}
		if i > 0 && l.marks[i].short < l.marks[i-1].short {
			r.fail(errOrder)
		}
	}
	return l
}

// readRequest judges and reads a request.
func readRequest(w *wirev1.SyncRequest) (*request, error) {
	r := &request{
		session: w.Session, number: w.Number, exchange: w.Exchange, reign: w.ExchangeReign, all: w.All, full: w.Full, partial: w.Partial, first: w.First,
		span: crdt.Span{Start: w.StartUnixSeconds, End: w.EndUnixSeconds}, groups: w.Groups,
	}
	switch {
	case w.Session == 0 || w.Number == 0:
		return nil, fmt.Errorf("%w: session %d, request %d, must not be 0", ErrFrame, w.Session, w.Number)
	case len(w.Spans) > maxSpans:
		return nil, fmt.Errorf("%w: request of %d spans, may be of %d", ErrFrame, len(w.Spans), maxSpans)
	case len(w.Groups) > maxGroups:
		return nil, fmt.Errorf("%w: request of %d groups, may be of %d", ErrFrame, len(w.Groups), maxGroups)
	case len(w.Groups) > 0 && len(w.Leaves) > 0:
		return nil, fmt.Errorf("%w: request of groups and leaves, must be of one", ErrFrame)
	case len(w.Groups)+len(w.Leaves) > 0 && (len(w.Spans) > 0 || r.span.Start >= r.span.End):
		return nil, fmt.Errorf("%w: request of groups or leaves, must be of one span", ErrFrame)
	case len(w.After) != 0 && len(w.After) != len(r.after):
		return nil, fmt.Errorf("%w: row ID has %d bytes, must have %d", ErrFrame, len(w.After), len(r.after))
	}
	copy(r.after[:], w.After)
	if err := r.readSpans(w.Spans); err != nil {
		return nil, err
	}
	if err := r.readLeaves(w.Leaves); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *request) readSpans(spans []*wirev1.Span) error {
	for _, s := range spans {
		span := crdt.Span{Start: s.StartUnixSeconds, End: s.EndUnixSeconds}
		if n := len(r.spans); n > 0 && r.spans[n-1].span.Compare(span) >= 0 {
			return fmt.Errorf("%w: spans of a request: %w", ErrFrame, errOrder)
		}
		r.spans = append(r.spans, spanDigest{span, s.Digest})
	}
	return nil
}

func (r *request) readLeaves(packed []byte) error {
	read := packedReader{b: packed}
	for len(read.b) > 0 {
		r.leaves = append(r.leaves, readLeaf(&read))
		if len(r.leaves) > maxLeaves {
			return fmt.Errorf("%w: request of more than %d leaves", ErrFrame, maxLeaves)
		}
	}
	if read.err != nil {
		return fmt.Errorf("%w: list of leaves %w", ErrFrame, read.err)
	}
	return nil
}

// appendProto adds a generated message as a field of a frame. Its bytes are
// those of numbers and byte strings, which always marshal.
func appendProto(b []byte, field protowire.Number, m proto.Message) []byte {
	body, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return appendMessage(b, field, body)
}
