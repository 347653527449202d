package redis

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"weir/crdt"
	"weir/limiter/quota"
	"weir/limiter/store"
)

// appendEntry writes what a replica counted, as quota.lua says.
func appendEntry(b []byte, c *quota.Count) []byte {
	b = strconv.AppendUint(b, c.Version, 10)
	b = appendField(b, c.Taken)
	b = appendField(b, c.Returned)
	given := c.Gifts.Total()
	if given == 0 && c.Granted == 0 && c.Unmet == 0 {
		return b
	}
	b = appendField(b, given)
	b = appendField(b, c.Granted)
	b = appendField(b, c.Unmet)
	for region, units := range c.Gifts.All() {
		b = appendField(b, int64(len(region)))
		b = append(b, ':')
		b = append(b, region...)
		b = append(b, '=')
		b = strconv.AppendInt(b, units, 10)
	}
	return b
}

func appendField(b []byte, n int64) []byte { return strconv.AppendInt(append(b, ' '), n, 10) }

// parseEntry reads an entry as the scripts write it.
func parseEntry(field, value string) (store.Entry, error) {
	reign, err := parseReign(field)
	if err != nil {
		return store.Entry{}, err
	}
	e := store.Entry{Reign: reign}
	if e.Count, err = parseCount(value); err != nil {
		return store.Entry{}, fmt.Errorf("entry %.80q: %w", value, err)
	}
	return e, nil
}

// parseCount reads what follows the reign: three numbers, or six and the gifts.
func parseCount(text string) (c quota.Count, err error) {
	parts := strings.SplitN(text, " ", 7)
	var numbers [6]int64 // version, taken, returned, given, granted, unmet
	if len(parts) != 3 && len(parts) < len(numbers) {
		return c, errors.New("want version, taken and returned, or these with given, granted and unmet")
	}
	for i := range min(len(parts), len(numbers)) {
		if numbers[i], err = parseUnits(parts[i]); err != nil {
			return c, err
		}
	}
	if len(parts) > len(numbers) {
		if c.Gifts, err = parseGifts(parts[len(numbers)]); err != nil {
			return c, err
		}
	}
	if total := c.Gifts.Total(); total != numbers[3] {
		return c, fmt.Errorf("given is %d, the gifts are %d", numbers[3], total)
	}
	c.Version, c.Taken, c.Returned = uint64(numbers[0]), numbers[1], numbers[2]
	c.Granted, c.Unmet = numbers[4], numbers[5]
	return c, nil
}

// parseGifts reads gifts, "<length>:<region>=<units>" with a space between.
func parseGifts(text string) (gifts crdt.Gifts, err error) {
	before := ""
	for more := true; more; {
		digits, rest, _ := strings.Cut(text, ":")
		size, err := strconv.ParseUint(digits, 10, 16)
		if err != nil {
			return "", fmt.Errorf("gift %.80q: length of the region: %w", text, err)
		}
		if int(size) >= len(rest) || rest[size] != '=' {
			return "", fmt.Errorf("gift %.80q: want a region of %d bytes and =", text, size)
		}
		region := rest[:size]
		if region <= before {
			return "", fmt.Errorf("gift %.80q: its region must come after %q", text, before)
		}
		digits, text, more = strings.Cut(rest[size+1:], " ")
		units, err := parseUnits(digits)
		if err != nil {
			return "", err
		}
		if units == 0 {
			return "", fmt.Errorf("a gift of 0 to %q: must be at least 1", region)
		}
		gifts, before = gifts.With(region, units), region
	}
	return gifts, nil
}

// parseUnits reads a number from 0 to 2^53.
func parseUnits(digits string) (int64, error) {
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || n > quota.MaxUnits {
		return 0, fmt.Errorf("number %.40q: want 0 to 2^53", digits)
	}
	return int64(n), nil
}

// decodeText reads text that a script wrote as integers, six bytes in each, its
// length before them, and returns the numbers that follow.
func decodeText(reply []int64) (text string, rest []int64, err error) {
	const each = 6
	if len(reply) == 0 || reply[0] < 0 || reply[0] > int64(len(reply)-1)*each {
		return "", nil, errors.New("reply ends within a text")
	}
	b := make([]byte, 0, reply[0])
	left, rest := int(reply[0]), reply[1:]
	for ; left > 0; rest = rest[1:] {
		size := min(left, each)
		for shift := 8 * (size - 1); shift >= 0; shift -= 8 {
			b = append(b, byte(rest[0]>>shift))
		}
		left -= size
	}
	return string(b), rest, nil
}
