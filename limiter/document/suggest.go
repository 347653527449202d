package document

import (
	"fmt"
	"slices"
	"strings"
)

// DidYouMean is "; did you mean X?" when one of the names is close to what was
// written, and otherwise "; the fields are …".
func DidYouMean(written string, names []string) string {
	if near := Nearest(strings.ToLower(strings.ReplaceAll(written, "-", "_")), names); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	sorted := slices.Sorted(slices.Values(names))
	return "; the fields are " + strings.Join(sorted, ", ")
}

// Nearest is the name closest to what was written, empty when none is close.
func Nearest(written string, names []string) string {
	best, nearest := 0, ""
	if len(written) > 64 {
		return ""
	}
	for _, name := range names {
		d := distance(written, name)
		if d <= allowance(name) && (nearest == "" || d < best) {
			best, nearest = d, name
		}
	}
	return nearest
}

// allowance is how many slips a name of this length may have and still be meant.
func allowance(name string) int {
	switch {
	case len(name) <= 3:
		return 1
	case len(name) <= 8:
		return 2
	}
	return 3
}

// distance is the number of bytes to insert, delete, replace or swap with a
// neighbour to get from a to b (optimal string alignment).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
