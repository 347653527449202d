package rule

import "math/bits"

// wholeShare is a share of 100 %: shares are parts of 10^8, so a percentage has
// up to six decimals.
const wholeShare = 100_000_000

// Overshoot is by how much the regions together may pass a quota while they
// cannot hear each other. The zero value is not at all.
type Overshoot struct {
	// Unbounded regions keep no rights: each may use what it believes is left.
	Unbounded bool
	// Share of the limit, in parts of 10^8: 1 % is 1 000 000. At most 10^8.
	Share int64
}

// Total is ⌊Q + ε⌋ for the limit Q: the units for which all regions together
// hold rights. It is exact, and at most 2^53, which is also the total when
// unbounded.
func (o Overshoot) Total(limit int64) int64 {
	if o.Unbounded {
		return maxQuota
	}
	high, low := bits.Mul64(uint64(limit), uint64(o.Share))
	excess, _ := bits.Div64(high, low, wholeShare) // high < 10^8 since limit < 2^63
	return min(limit+int64(min(excess, maxQuota)), maxQuota)
}
