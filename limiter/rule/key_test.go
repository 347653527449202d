package rule

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestShortKeysAreInjective draws keys around the bound, some of them shortened
// ones: no two make the same.
func TestShortKeysAreInjective(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		key := rapid.Custom(func(rt *rapid.T) string {
			long := strings.Repeat(rapid.SampledFrom([]string{"a", "é", "語", "🜁"}).Draw(rt, "rune"), rapid.IntRange(0, 220).Draw(rt, "length")) +
				rapid.StringN(0, 3, -1).Draw(rt, "tail")
			if rapid.Bool().Draw(rt, "shortened") {
				return ShortKey(long)
			}
			return long
		})
		a, b := key.Draw(rt, "a"), key.Draw(rt, "b")
		if (a == b) != (ShortKey(a) == ShortKey(b)) {
			rt.Fatalf("%q and %q: %q and %q", a, b, ShortKey(a), ShortKey(b))
		}
		if short := ShortKey(a); len(short) > maxKeyBytes+8 || utf8.ValidString(a) != utf8.ValidString(short) {
			rt.Fatalf("%q: %q of %d bytes", a, short, len(short))
		}
	})
}
