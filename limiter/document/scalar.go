package document

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// whole is an integer, perhaps with a fraction and a power of ten: 1e6, 2.5e3.
var whole = regexp.MustCompile(`^([+-]?)([0-9]{1,30})(?:\.([0-9]{1,30}))?(?:[eE]\+?([0-9]{1,2}))?$`)

// ParseInt reads a whole number: 1000, -5, 1e6, 2.5e3.
func ParseInt(s string) (int64, error) {
	m := whole.FindStringSubmatch(s)
	if m == nil {
		return 0, errors.New("not a whole number; write one such as 1000 or 1e6")
	}
	power := 0
	if m[4] != "" {
		power, _ = strconv.Atoi(m[4]) // two digits
	}
	fraction := strings.TrimRight(m[3], "0")
	if len(fraction) > power {
		return 0, errors.New("not a whole number; write one such as 1000 or 1e6")
	}
	digits := m[1] + m[2] + fraction + strings.Repeat("0", power-len(fraction))
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok || !n.IsInt64() {
		return 0, fmt.Errorf("out of range; the most is %d", math.MaxInt64)
	}
	return n.Int64(), nil
}

// ParseBool reads true or false.
func ParseBool(s string) (bool, error) {
	switch s {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errors.New("write true or false")
}

// Unit is a unit of time with a fixed length.
type Unit struct {
	Name   string
	Length time.Duration
}

// Units are the units of time, the shortest first. A month is none: it has no
// fixed length.
var Units = []Unit{
	{"ms", time.Millisecond},
	{"s", time.Second},
	{"m", time.Minute},
	{"h", time.Hour},
	{"day", 24 * time.Hour},
	{"week", 7 * 24 * time.Hour},
}

// UnitNames lists the units for messages.
const UnitNames = "ms s m h day week"

// otherUnits are common spellings, to say which one is right.
var otherUnits = map[string]string{
	"millisecond": "ms", "milliseconds": "ms", "msec": "ms",
	"second": "s", "seconds": "s", "sec": "s", "secs": "s", "S": "s",
	"minute": "m", "minutes": "m", "min": "m", "mins": "m",
	"hour": "h", "hours": "h", "hr": "h", "H": "h",
	"d": "day", "days": "day", "D": "day", "Day": "day",
	"w": "week", "weeks": "week", "W": "week", "Week": "week",
}

// ParseUnit reads the name of a unit.
func ParseUnit(s string) (time.Duration, error) {
	for _, u := range Units {
		if u.Name == s {
			return u.Length, nil
		}
	}
	if right, ok := otherUnits[s]; ok {
		return 0, fmt.Errorf("unknown unit %q (did you mean %s?)", s, right)
	}
	return 0, fmt.Errorf("unknown unit %q", s)
}

var duration = regexp.MustCompile(`^([0-9]{1,18})([A-Za-zµ]+)$`)

// ParseDuration reads a whole number and a unit: 500ms, 10s, 2h, 1day.
func ParseDuration(s string) (time.Duration, error) {
	m := duration.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("not a duration; write a whole number and one of %s, such as 10s", UnitNames)
	}
	unit, err := ParseUnit(m[2])
	if err != nil {
		return 0, fmt.Errorf("%w; write a whole number and one of %s, such as 10s", err, UnitNames)
	}
	n, _ := strconv.ParseInt(m[1], 10, 64) // 18 digits
	if n > int64(math.MaxInt64/unit) {
		return 0, fmt.Errorf("too long; the most is %dday", math.MaxInt64/(24*time.Hour))
	}
	return time.Duration(n) * unit, nil
}

// Int is a whole number.
func (v Value) Int() (int64, bool) { return read(v, ParseInt) }

// Bool is true or false.
func (v Value) Bool() (value, ok bool) { return read(v, ParseBool) }

// Duration is a whole number and a unit.
func (v Value) Duration() (time.Duration, bool) { return read(v, ParseDuration) }

func read[T any](v Value, parse func(string) (T, error)) (value T, ok bool) {
	text, ok := v.Text()
	if !ok {
		return value, false
	}
	value, err := parse(text)
	if err != nil {
		v.Problem("%s: %v", Quote(text), err)
		return value, false
	}
	return value, true
}
