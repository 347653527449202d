package rule

import "strings"

var escape = strings.NewReplacer(`\`, `\\`, `,`, `\,`)

// Key is whom the rule counts in a request that it applies to. A rule that
// counts by one attribute: its value as it is; by several: their values joined
// by ",", with "," and "\" in them escaped by "\"; by none: empty. Different
// values never make the same key.
func (r *Rule) Key(attrs Attributes) string {
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

// Subject is what decides where the store keeps the rule's state: the name and
// the value of the first attribute counted by, so that rules that count the
// same client are decided together. A rule that counts by none is a subject of
// its own: no name, and the rule's name as value.
func (r *Rule) Subject(attrs Attributes) (name, value string) {
	if len(r.CountBy) == 0 {
		return "", r.Name
	}
	name = r.CountBy[0]
	return name, attrs[name]
}
