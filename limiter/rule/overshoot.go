package rule

import (
	"errors"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
)

const (
	// wholeShare is a share of 100 %: shares are parts of 10^8, so a percentage
	// has up to six decimals.
	wholeShare = 100_000_000
	percent    = wholeShare / 100
)

// Overshoot is by how much the regions together may pass a quota while they
// cannot hear each other. The zero value is not at all.
type Overshoot struct {
	// Unbounded regions keep no rights: each may use what it believes is left.
	Unbounded bool
	// Share of the limit, in parts of 10^8: 1 % is 1 000 000. At most 10^8.
	Share int64
}

// defaultOvershoot is that of a rule that says nothing.
var defaultOvershoot = Overshoot{Share: 1 * percent}

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

// String is the overshoot as rules write it: 0, 0.5%, 1% or unbounded.
func (o Overshoot) String() string {
	if o.Unbounded {
		return unbounded
	}
	whole, decimals := strconv.FormatInt(o.Share/percent, 10), strconv.FormatInt(percent+o.Share%percent, 10)[1:]
	switch decimals = strings.TrimRight(decimals, "0"); {
	case o.Share == 0:
		return "0"
	case decimals == "":
		return whole + "%"
	}
	return whole + "." + decimals + "%"
}

const (
	unbounded     = "unbounded"
	overshootForm = "write a share of the quota from 0% to 100%, such as 1% or 0.5%, or " + unbounded
)

var percentage = regexp.MustCompile(`^([0-9]{1,9})(?:\.([0-9]{1,30}))?%$`)

// parseOvershoot reads 0, a percentage or unbounded.
func parseOvershoot(s string) (Overshoot, error) {
	switch s {
	case unbounded:
		return Overshoot{Unbounded: true}, nil
	case "0":
		return Overshoot{}, nil
	}
	m := percentage.FindStringSubmatch(s)
	if m == nil {
		return Overshoot{}, wrongOvershoot(s)
	}
	const places = 6
	decimals := strings.TrimRight(m[2], "0")
	if len(decimals) > places {
		return Overshoot{}, errors.New("has more than 6 decimals; " + overshootForm)
	}
	// Nine digits and six: that is below 2^63.
	share, _ := strconv.ParseInt(m[1]+decimals+strings.Repeat("0", places-len(decimals)), 10, 64)
	if share > wholeShare {
		return Overshoot{}, errors.New("is more than the quota itself; " + overshootForm)
	}
	return Overshoot{Share: share}, nil
}

var (
	bareNumber = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)
	negative   = regexp.MustCompile(`^-[0-9.]+%?$`)
)

func wrongOvershoot(s string) error {
	switch {
	case bareNumber.MatchString(s):
		return errors.New("has no unit; " + overshootForm)
	case negative.MatchString(s):
		return errors.New("is negative; " + overshootForm)
	}
	return errors.New("not a percentage; " + overshootForm)
}
