package crdt

import (
	"encoding/binary"
	"fmt"
	"iter"
)

// MaxGiftRegions is how many regions one replica may have given to.
const MaxGiftRegions = 64

// Gifts is how many units of its region's rights a replica has given to each
// other region. It is a value: packed in order of region, each region once,
// units above 0, so that equal gifts are equal strings. The zero Gifts are
// none.
type Gifts string

// All yields the gifts in order of region.
func (g Gifts) All() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for at := 0; at < len(g); {
			region, units, next := g.at(at)
			if !yield(region, units) {
				return
			}
			at = next
		}
	}
}

// at decodes the gift that begins there. A Gifts is only ever made by With, so
// it holds whole gifts.
func (g Gifts) at(from int) (region string, units int64, next int) {
	size, at := g.uvarint(from)
	region, at = string(g[at:at+int(size)]), at+int(size)
	v, at := g.uvarint(at)
	return region, int64(v), at
}

// uvarint is binary.Uvarint without a copy of the string.
func (g Gifts) uvarint(at int) (v uint64, next int) {
	for shift := 0; ; shift += 7 {
		b := g[at]
		at++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, at
		}
	}
}

// To is what was given to a region, in units.
func (g Gifts) To(region string) int64 {
	for to, units := range g.All() {
		if to == region {
			return units
		}
	}
	return 0
}

// Total is what was given to all regions, in units.
func (g Gifts) Total() (sum int64) {
	for _, units := range g.All() {
		sum = addUnits(sum, units)
	}
	return sum
}

// Len is how many regions were given something.
func (g Gifts) Len() (n int) {
	for range g.All() {
		n++
	}
	return n
}

// With returns the gifts with that many units given to a region in all.
func (g Gifts) With(region string, units int64) Gifts {
	b := make([]byte, 0, len(g)+len(region)+12)
	placed := false
	place := func() {
		if !placed && units > 0 {
			b = appendGift(b, region, units)
		}
		placed = true
	}
	for to, have := range g.All() {
		if to >= region {
			place()
		}
		if to != region {
			b = appendGift(b, to, have)
		}
	}
	place()
	return Gifts(b)
}

func appendGift(b []byte, region string, units int64) []byte {
	b = binary.AppendUvarint(b, uint64(len(region)))
	b = append(b, region...)
	return binary.AppendUvarint(b, uint64(units))
}

// join takes the larger of what was given to each region.
func (g Gifts) join(h Gifts) Gifts {
	if g == h || h == "" {
		return g
	}
	for region, units := range h.All() {
		if units > g.To(region) {
			g = g.With(region, units)
		}
	}
	return g
}

// validate says which rule gifts break: regions are named as those of replicas
// are, the own one is not among them, there are at most MaxGiftRegions, and
// units lie within [1, MaxUnits].
func (g Gifts) validate(own string) error {
	n := 0
	for region, units := range g.All() {
		n++
		switch {
		case region == "" || len(region) > MaxRegionBytes:
			return fmt.Errorf("%w: a gift's region has %d bytes, must have 1 to %d", ErrEntry, len(region), MaxRegionBytes)
		case region == own:
			return fmt.Errorf("%w: %q gave to itself", ErrEntry, own)
		case units < 1 || units > MaxUnits:
			return fmt.Errorf("%w: a gift is %d, must be 1 to 2^53", ErrEntry, units)
		}
	}
	if n > MaxGiftRegions {
		return fmt.Errorf("%w: gifts to %d regions, may be to %d", ErrEntry, n, MaxGiftRegions)
	}
	return nil
}
