package rule

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

const (
	// maxKeyBytes is the longest key that is kept as it is: keys travel between
	// regions and lie in memory by the million.
	maxKeyBytes = 200
	// A longer one keeps so much of its beginning. With its digest that is more
	// than maxKeyBytes, so no short key looks like a shortened one.
	keptKeyBytes = 140
)

// ShortKey is a key as it is counted: a long one is cut, and told apart by the
// SHA-256 of the whole.
func ShortKey(key string) string {
	if len(key) <= maxKeyBytes {
		return key
	}
	kept := keptKeyBytes
	for kept > keptKeyBytes-utf8.UTFMax && !utf8.RuneStart(key[kept]) {
		kept--
	}
	sum := sha256.Sum256([]byte(key))
	return key[:kept] + "…" + hex.EncodeToString(sum[:])
}

var escape = strings.NewReplacer(`\`, `\\`, `,`, `\,`)

// Key is whom the rule counts in a request that it applies to. A rule that
// counts by one attribute: its value as it is; by several: their values joined
// by ",", with "," and "\" in them escaped by "\"; by none: empty. A long one is
// shortened. Different values never make the same key.
func (r *Rule) Key(attrs Attributes) string { return ShortKey(r.longKey(attrs)) }

func (r *Rule) longKey(attrs Attributes) string {
	switch len(r.CountBy) {
	case 0:
		return ""
	case 1:
		return attrs[r.CountBy[0]]
	}
	var b strings.Builder
	for i, name := range r.CountBy {
		if i > 0 {
			b.WriteByte(',')
		}
		if value := attrs[name]; strings.ContainsAny(value, `,\`) {
			_, _ = escape.WriteString(&b, value) // a Builder does not fail
		} else {
			b.WriteString(value)
		}
	}
	return b.String()
}

// maxSubjectBytes is how much of a value decides where its state is kept: less
// than every shortened key keeps.
const maxSubjectBytes = 128

// Subject is what decides where the store keeps the rule's state: the name and
// the beginning of the value of the first attribute counted by, so that rules
// that count the same client are decided together. A rule that counts by none is
// a subject of its own: no name, and the rule's name as value.
func (r *Rule) Subject(attrs Attributes) (name, value string) {
	if len(r.CountBy) == 0 {
		return "", r.Name
	}
	name = r.CountBy[0]
	return name, cut(escaped(attrs[name]))
}

// SubjectOf is the same for a key, as Key gives it: whoever knows a row alone
// finds its place.
func (r *Rule) SubjectOf(key string) (name, value string) {
	switch len(r.CountBy) {
	case 0:
		return "", r.Name
	case 1:
		return r.CountBy[0], cut(escaped(key))
	}
	return r.CountBy[0], cut(firstOf(key))
}

func escaped(value string) string {
	if strings.ContainsAny(value, `,\`) {
		return escape.Replace(value)
	}
	return value
}

func cut(value string) string { return value[:min(len(value), maxSubjectBytes)] }

// firstOf is a key up to its first comma that is not escaped.
func firstOf(key string) string {
	for i := 0; i < len(key); i++ {
		switch key[i] {
		case '\\':
			i++
		case ',':
			return key[:i]
		}
	}
	return key
}
