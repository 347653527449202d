package gossip

import (
	"encoding/binary"
	"fmt"

	"weir/crdt"
	wirev1 "weir/proto/wire/v1"
)

// reply is the answer to a request of a session, as it came.
type reply struct {
	session uint64
	number  uint32

	spans  []spanGroups
	more   bool
	groups []groupLeaves

	leavesDone uint32
	after      crdt.RowID
	wants      []want
}

type spanGroups struct {
	span   crdt.Span
	groups []byte // a vector
}

type groupLeaves struct {
	group  uint8
	leaves []byte // a vector
}

// want is a row that the answering node lacks.
type want struct {
	leaf, short uint16
}

const wantBytes = 4

func appendWant(b []byte, w want) []byte {
	b = binary.BigEndian.AppendUint16(b, w.leaf)
	return binary.BigEndian.AppendUint16(b, w.short)
}

// readReply judges and reads an answer.
func readReply(w *wirev1.SyncAnswer) (*reply, error) {
	r := &reply{session: w.Session, number: w.Number, more: w.More, leavesDone: w.LeavesDone}
	switch {
	case w.Session == 0 || w.Number == 0:
		return nil, fmt.Errorf("%w: session %d, answer %d, must not be 0", ErrFrame, w.Session, w.Number)
	case len(w.Spans) > maxSpans || len(w.Groups) > maxGroups:
		return nil, fmt.Errorf("%w: answer of %d spans, %d groups, may be of %d, %d", ErrFrame, len(w.Spans), len(w.Groups), maxSpans, maxGroups)
	case len(w.After) != 0 && len(w.After) != len(r.after):
		return nil, fmt.Errorf("%w: row ID has %d bytes, must have %d", ErrFrame, len(w.After), len(r.after))
	case len(w.Wants)%wantBytes != 0 || len(w.Wants) > maxMarks*wantBytes:
		return nil, fmt.Errorf("%w: wants have %d bytes, must be rows of %d, at most %d", ErrFrame, len(w.Wants), wantBytes, maxMarks)
	}
	copy(r.after[:], w.After)
	for b := w.Wants; len(b) > 0; b = b[wantBytes:] {
		r.wants = append(r.wants, want{binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])})
	}
	if err := r.readVectors(w); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *reply) readVectors(w *wirev1.SyncAnswer) error {
	for _, s := range w.Spans {
		if !isVector(s.Groups) {
			return fmt.Errorf("%w: digests of groups: %w", ErrFrame, errVector)
		}
		r.spans = append(r.spans, spanGroups{crdt.Span{Start: s.StartUnixSeconds, End: s.EndUnixSeconds}, s.Groups})
	}
	for _, g := range w.Groups {
		if !isVector(g.Leaves) {
			return fmt.Errorf("%w: digests of leaves: %w", ErrFrame, errVector)
		}
		if g.Group > 255 {
			return fmt.Errorf("%w: group %d, must be 0 to 255", ErrFrame, g.Group)
		}
		r.groups = append(r.groups, groupLeaves{uint8(g.Group), g.Leaves})
	}
	return nil
}
