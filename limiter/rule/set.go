package rule

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
)

// Set is a rules file in force, made by Parse or NewSet. It is immutable: any
// goroutine may match.
type Set struct {
	Rules []Rule

	index       *index
	byName      map[string]*Rule
	fingerprint string
}

// NewSet returns the rules as a set. It owns them from now on.
func NewSet(rules []Rule) *Set {
	s := &Set{Rules: rules, index: newIndex(rules), fingerprint: fingerprint(rules), byName: make(map[string]*Rule, len(rules))}
	for i := range rules {
		s.byName[rules[i].Name] = &rules[i]
	}
	return s
}

// Match appends the rules that apply to a request, in the order of the file.
// Nothing else is allocated.
func (s *Set) Match(attrs Attributes, to []*Rule) []*Rule {
	if s.index != nil {
		return s.index.match(s.Rules, attrs, to)
	}
	for i := range s.Rules {
		if s.Rules[i].applies(attrs) {
			to = append(to, &s.Rules[i])
		}
	}
	return to
}

// Rule returns the rule of that name, nil when there is none.
func (s *Set) Rule(name string) *Rule { return s.byName[name] }

// Fingerprint is 16 hexadecimal digits that are the same for the same rules in
// the same order, however they are laid out; for people to compare nodes by.
func (s *Set) Fingerprint() string {
	if s.fingerprint == "" {
		return fingerprint(s.Rules)
	}
	return s.fingerprint
}

func fingerprint(rules []Rule) string {
	var b []byte
	text := func(s string) { b = appendText(b, s) }
	list := func(values []string) {
		b = binary.AppendUvarint(b, uint64(len(values)))
		for _, s := range values {
			text(s)
		}
	}
	for i := range rules {
		r := &rules[i]
		text(r.Name)
		list(r.CountBy)
		b = binary.AppendUvarint(b, uint64(len(r.Match)))
		for _, m := range canonical(r.Match) {
			text(m.Attribute)
			list(m.Values)
		}
		b = binary.AppendUvarint(b, uint64(len(r.Limits)))
		for _, l := range r.Limits {
			b = appendLimit(b, l)
		}
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendLimit(b []byte, l Limit) []byte {
	if l.Quota != nil {
		return l.Quota.append(append(b, 'q'))
	}
	b = append(b, 'b')
	b = binary.AppendVarint(b, l.Bucket.Count)
	b = binary.AppendVarint(b, int64(l.Bucket.Window))
	return binary.AppendVarint(b, l.Bucket.Burst)
}

// canonical puts matchers and their values, whose order means nothing, in order.
func canonical(match []Matcher) []Matcher {
	sorted := make([]Matcher, len(match))
	for i, m := range match {
		sorted[i] = Matcher{Attribute: m.Attribute, Values: slices.Sorted(slices.Values(m.Values))}
	}
	slices.SortFunc(sorted, func(a, b Matcher) int { return cmp.Compare(a.Attribute, b.Attribute) })
	return sorted
}
