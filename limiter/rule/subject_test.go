package rule

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestAKeyTellsItsSubject: whoever knows a row, and not the request, finds the
// place where the store keeps it.
func TestAKeyTellsItsSubject(t *testing.T) {
	value := rapid.Custom(func(t *rapid.T) string {
		part := rapid.SampledFrom([]string{"a", ",", `\`, "é", strings.Repeat("x", 60), strings.Repeat("é", 40), strings.Repeat(",", 70)})
		return strings.Join(rapid.SliceOfN(part, 0, 6).Draw(t, "parts"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		r := &Rule{Name: "r", CountBy: []string{"a", "b", "c"}[:rapid.IntRange(0, 3).Draw(t, "attributes")]}
		attrs := Attributes{"a": value.Draw(t, "a"), "b": value.Draw(t, "b"), "c": value.Draw(t, "c")}
		name, subject := r.Subject(attrs)
		gotName, got := r.SubjectOf(r.Key(attrs))
		if gotName != name || got != subject {
			t.Fatalf("the key %q is of %q %q, the request of %q %q", r.Key(attrs), gotName, got, name, subject)
		}
	})
}
