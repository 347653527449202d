package model

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// A State is made of bytes and nothing else, so its memory is its canonical form
// and packing it means leaving out the zeros: for every 8 bytes one byte that says
// which of them follow.

const stateBytes = int(unsafe.Sizeof(State{}))

//nolint:gosec // a view of a plain value of bytes; it does not outlive the call
func stateView(s *State) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(s)), stateBytes) }

//nolint:gosec // as above
func nodeView(n *node) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(n)), int(unsafe.Sizeof(node{})))
}

//nolint:gosec // as above
func messageView(m *message) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(m)), int(unsafe.Sizeof(message{})))
}

// pack appends the packed form of s to to.
func pack(to []byte, s *State) []byte {
	view := stateView(s)
	for len(view) >= 8 {
		word := binary.LittleEndian.Uint64(view)
		at := len(to)
		to = append(to, 0)
		var mask byte
		for word != 0 {
			i := bits.TrailingZeros64(word) / 8
			mask |= 1 << i
			to = append(to, byte(word>>(8*i)))
			word &^= 0xff << (8 * i)
		}
		to[at] = mask
		view = view[8:]
	}
	return append(to, view...)
}

// unpack reads what pack wrote.
func unpack(from []byte, s *State) {
	*s = State{}
	view := stateView(s)
	for len(view) >= 8 {
		mask := from[0]
		from = from[1:]
		for mask != 0 {
			i := bits.TrailingZeros8(mask)
			view[i] = from[0]
			from = from[1:]
			mask &= mask - 1
		}
		view = view[8:]
	}
	copy(view, from)
}

// canonical sorts the nodes of each region: they are alike, so that two states
// that differ in who is who are one. It says which node went where.
func canonical(s *State, c *Config) (moved [maxRegions][maxNodes]uint8) {
	for r := range moved {
		for n := range moved[r] {
			moved[r][n] = uint8(n)
		}
	}
	if c.Nodes < 2 {
		return moved
	}
	for r := range c.Regions {
		nodes := &s.Regions[r].Nodes
		if bytes.Compare(nodeView(&nodes[0]), nodeView(&nodes[1])) > 0 {
			nodes[0], nodes[1] = nodes[1], nodes[0]
			moved[r][0], moved[r][1] = 1, 0
		}
	}
	return moved
}

// fingerprint is a hash of 128 bits, the same in every run.
type fingerprint struct{ hi, lo uint64 }

func hash(packed []byte) fingerprint {
	const (
		p0 = 0xa0761d6478bd642f
		p1 = 0xe7037ed1a0b428db
		p2 = 0x8ebc6af09c88c6e3
		p3 = 0x589965cc75374cc3
	)
	x, y := uint64(p0)^uint64(len(packed)), uint64(p2)
	for len(packed) > 0 {
		var chunk [16]byte
		n := copy(chunk[:], packed)
		packed = packed[n:]
		a := binary.LittleEndian.Uint64(chunk[:8])
		b := binary.LittleEndian.Uint64(chunk[8:])
		h, l := bits.Mul64(a^p1^x, b^p0^bits.RotateLeft64(x, 29))
		x = h ^ l ^ bits.RotateLeft64(x, 17)*p3
		h, l = bits.Mul64(a^p3^y, b^p2^bits.RotateLeft64(y, 31))
		y = h ^ l ^ bits.RotateLeft64(y, 23)*p1
	}
	h, l := bits.Mul64(x^p0, y^p3)
	return fingerprint{hi: h ^ x, lo: l ^ y ^ bits.RotateLeft64(x, 32)}
}
