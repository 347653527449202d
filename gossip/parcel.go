package gossip

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// MaxParcelBytes bounds what one parcel carries.
const MaxParcelBytes = 8 << 10

// parcelID names a parcel, so that one that comes twice is acknowledged twice.
type parcelID [16]byte

// parcel is something for one node, any node, of a region.
type parcel struct {
	id        parcelID
	from      string // the node that acknowledgements go to
	region    string
	untilUnix int64 // it is worth nothing after
	payload   []byte
}

// What a message that is no frame begins with: protobuf has no field 0.
const (
	parcelMark   = 0
	parcelKind   = 1
	receivedKind = 2
)

// ErrParcel is wrapped by every error that says a message is no parcel.
var ErrParcel = errors.New("malformed parcel")

// encode writes the parcel: mark, kind, id, until (8 bytes, big-endian), the
// sender and the region with their lengths (1 byte each), the payload.
func (p *parcel) encode() []byte {
	b := make([]byte, 0, 28+len(p.from)+len(p.region)+len(p.payload))
	b = append(b, parcelMark, parcelKind)
	b = append(b, p.id[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(p.untilUnix))
	b = append(b, byte(len(p.from)))
	b = append(b, p.from...)
	b = append(b, byte(len(p.region)))
	b = append(b, p.region...)
	return append(b, p.payload...)
}

func encodeReceived(id parcelID) []byte {
	return append([]byte{parcelMark, receivedKind}, id[:]...)
}

// isParcel says whether a message is not a frame.
func isParcel(b []byte) bool { return len(b) > 0 && b[0] == parcelMark }

// decodeParcel reads a parcel, or the acknowledgement of one. It shares nothing
// with b.
func decodeParcel(b []byte) (p parcel, received bool, err error) {
	const head = 2 + len(parcelID{})
	if len(b) < head || b[0] != parcelMark {
		return parcel{}, false, fmt.Errorf("%w: %d bytes", ErrParcel, len(b))
	}
	copy(p.id[:], b[2:])
	rest := b[head:]
	switch kind := b[1]; {
	case kind == receivedKind && len(rest) == 0:
		return p, true, nil
	case kind != parcelKind || len(rest) < 8:
		return parcel{}, false, fmt.Errorf("%w: kind %d, %d bytes", ErrParcel, kind, len(b))
	}
	p.untilUnix = int64(binary.BigEndian.Uint64(rest))
	rest = rest[8:]
	for _, text := range []*string{&p.from, &p.region} {
		if len(rest) == 0 || len(rest) < 1+int(rest[0]) || rest[0] == 0 {
			return parcel{}, false, fmt.Errorf("%w: a name is cut short", ErrParcel)
		}
		*text = string(rest[1 : 1+rest[0]])
		rest = rest[1+rest[0]:]
	}
	if len(rest) > MaxParcelBytes {
		return parcel{}, false, fmt.Errorf("%w: carries %d bytes, may carry %d", ErrParcel, len(rest), MaxParcelBytes)
	}
	p.payload = append([]byte(nil), rest...)
	return p, false, nil
}
