package gossip

import "encoding/binary"

// vector is the 256 digests of groups or leaves, cut to 32 bits each for one
// session.
type vector [256]uint32

// fold cuts a digest to 32 bits. The session's number is the key: what looks
// equal by chance in one session differs in the next. Nothing stays nothing.
func fold(digest, session uint64) uint32 { return uint32(digest * (session | 1) >> 32) }

func (v *vector) fold(digests *[256]uint64, session uint64) {
	for i, d := range digests {
		v[i] = fold(d, session)
	}
}

const (
	denseVectorBytes = 256 * 4
	sparseItemBytes  = 5
	// maxSparse is where all 256 take less.
	maxSparse = denseVectorBytes / sparseItemBytes
)

// encode writes all digests, or number and digest of those that are not 0.
func (v *vector) encode() []byte {
	used := 0
	for _, d := range v {
		if d != 0 {
			used++
		}
	}
	if used > maxSparse {
		b := make([]byte, 0, denseVectorBytes)
		for _, d := range v {
			b = binary.LittleEndian.AppendUint32(b, d)
		}
		return b
	}
	b := make([]byte, 0, used*sparseItemBytes)
	for i, d := range v {
		if d != 0 {
			b = binary.LittleEndian.AppendUint32(append(b, byte(i)), d)
		}
	}
	return b
}

// isVector says whether decode can read it.
func isVector(b []byte) bool {
	if len(b) == denseVectorBytes {
		return true
	}
	if len(b)%sparseItemBytes != 0 || len(b) > maxSparse*sparseItemBytes {
		return false
	}
	for at := sparseItemBytes; at < len(b); at += sparseItemBytes {
		if b[at] <= b[at-sparseItemBytes] {
			return false
		}
	}
	return true
}

// decode reads what isVector.
func (v *vector) decode(b []byte) {
	if len(b) == denseVectorBytes {
		for i := range v {
			v[i] = binary.LittleEndian.Uint32(b[4*i:])
		}
		return
	}
	clear(v[:])
	for ; len(b) > 0; b = b[sparseItemBytes:] {
		v[b[0]] = binary.LittleEndian.Uint32(b[1:])
	}
}
