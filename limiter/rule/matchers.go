package rule

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weir/limiter/document"
)

// maxValue is the most bytes of an attribute's value.
const maxValue = 4096

// maxValues is the most values a matcher may list.
const maxValues = 1000

func (r *Rule) readMatch(v document.Value) bool {
	entries, ok := v.Entries()
	if !ok {
		return false
	}
	if len(entries) == 0 {
		v.Problem("is empty; write ATTRIBUTE: VALUE, or remove the field to match every request")
		return false
	}
	for _, e := range entries {
		if err := checkAttribute(e.Name); err != nil {
			e.Key.Problem("%v", err)
			ok = false
			continue
		}
		values, all := readValues(e.Value)
		ok = ok && all
		r.Match = append(r.Match, Matcher{Attribute: e.Name, Values: values})
	}
	return ok
}

func readValues(v document.Value) (values []string, ok bool) {
	items, ok := v.ItemsOrOne()
	switch {
	case !ok:
		return nil, false
	case len(items) == 0:
		v.Problem("is an empty list, which no request matches; write a value")
		return nil, false
	case len(items) > maxValues:
		v.Problem("has %d values; the most is %d", len(items), maxValues)
		return nil, false
	}
	seen := make(map[string]bool, len(items))
	for _, item := range items {
		value, isText := item.Text()
		if !isText {
			ok = false
			continue
		}
		if err := checkValue(value); err != nil {
			item.Problem("%s: %v", document.Quote(value), err)
			ok = false
			continue
		}
		if seen[value] {
			item.Problem("%s is listed twice; remove one", document.Quote(value))
			ok = false
			continue
		}
		seen[value] = true
		values = append(values, value)
	}
	return values, ok
}

// checkValue refuses what would be a pattern: as an exact value it would match
// nothing, silently.
func checkValue(s string) error {
	if len(s) > maxValue {
		return fmt.Errorf("has %d bytes, and no request has a value of more than %d", len(s), maxValue)
	}
	if i := strings.IndexAny(s, "*?{}"); i >= 0 {
		return fmt.Errorf("%q makes it a pattern, which is %s; write exact values", s[i:i+1], document.NotImplemented)
	}
	if _, err := netip.ParsePrefix(s); err == nil {
		return fmt.Errorf("address ranges are %s; write exact values", document.NotImplemented)
	}
	return nil
}

// maxCountBy is the most attributes a rule may count by.
const maxCountBy = 8

func (r *Rule) readCountBy(v document.Value) bool {
	items, ok := v.ItemsOrOne()
	switch {
	case !ok:
		return false
	case len(items) == 0:
		v.Problem("is an empty list; write attribute names, or remove the field to count all requests together")
		return false
	case len(items) > maxCountBy:
		v.Problem("has %d attributes; the most is %d", len(items), maxCountBy)
		return false
	}
	for _, item := range items {
		name, isText := item.Text()
		if !isText {
			ok = false
			continue
		}
		if err := checkAttribute(name); err != nil {
			item.Problem("%v", err)
			ok = false
			continue
		}
		if slices.Contains(r.CountBy, name) {
			item.Problem("%q is listed twice; remove one", name)
			ok = false
			continue
		}
		r.CountBy = append(r.CountBy, name)
	}
	return ok
}

// checkAttribute accepts an attribute's name, and says which names mean what
// this version does not do.
func checkAttribute(s string) error {
	name, bits, isRange := strings.Cut(s, "/")
	switch {
	case isRange && name == "ip" && bits != "":
		return fmt.Errorf("%s: counting or matching by address range is %s; write ip", document.Quote(s), document.NotImplemented)
	case s == "tier":
		return fmt.Errorf(`"tier": tiers are %s; write another attribute`, document.NotImplemented)
	}
	if err := checkName(s); err != nil {
		return fmt.Errorf("attribute %s: %w", document.Quote(s), err)
	}
	return nil
}
