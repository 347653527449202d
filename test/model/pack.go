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
		nodes := &s.Regions[r].Nodes
		was := [maxNodes]uint8{}
		for n := range was {
			was[n] = uint8(n)
		}
		for n := 1; r < c.Regions && n < c.nodes(r); n++ {
			for i := n; i > 0 && bytes.Compare(nodeView(&nodes[i-1]), nodeView(&nodes[i])) > 0; i-- {
				nodes[i-1], nodes[i] = nodes[i], nodes[i-1]
				was[i-1], was[i] = was[i], was[i-1]
			}
		}
		for n, old := range was {
			moved[r][old] = uint8(n)
		}
	}
	return moved
}

// fingerprint is a hash of 128 bits, the same in every run.
type fingerprint struct{ hi, lo uint64 }

// hash mixes the words of s that are not zero, each with its place.
func hash(s *State) fingerprint {
	const (
		p0 = 0xa0761d6478bd642f
		p1 = 0xe7037ed1a0b428db
		p2 = 0x8ebc6af09c88c6e3
		p3 = 0x589965cc75374cc3
	)
	x, y := uint64(p0), uint64(p2)
	mix := func(place, word uint64) {
		h, l := bits.Mul64(word^p1^x, (place+1)*p3^x)
		x = h ^ l
		h, l = bits.Mul64(word^p3^y, (place+1)*p1^y)
		y = h ^ l
	}
	view := stateView(s)
	place := uint64(0)
	for ; len(view) >= 8; view = view[8:] {
		if word := binary.LittleEndian.Uint64(view); word != 0 {
			mix(place, word)
		}
		place++
	}
	for _, b := range view {
		if b != 0 {
			mix(place, uint64(b))
		}
		place++
	}
	h, l := bits.Mul64(x^p2, p0^bits.RotateLeft64(y, 32))
	return fingerprint{hi: h ^ l ^ x, lo: l ^ y}
}
