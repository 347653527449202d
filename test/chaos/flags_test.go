package chaos

import (
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

var (
	forTime    = flag.Duration("for", 0, "how long faults are injected; 0 is 10m, or with -short 75s")
	seedFlag   = flag.String("seed", "", "replay the faults of this seed alone")
	only       = flag.String("only", "", "only faults whose name this regular expression matches")
	weirBinary = flag.String("weir", "", "run this binary rather than one built from the sources")
)

// fixedSeeds are those of the short form, beside one by chance: together their
// first three faults each are of every sort.
var fixedSeeds = []uint64{49, 39}

// runTime is how long faults are injected.
func runTime() time.Duration {
	switch {
	case *forTime > 0:
		return *forTime
	case testing.Short():
		return 75 * time.Second
	}
	return 10 * time.Minute
}

// longestCut is how long regions may be cut off from each other, in seconds;
// they are until they are called so, in any case.
func longestCut() float64 {
	if testing.Short() {
		return 6
	}
	return 25
}

// seeds are those that a run draws its faults from, in turn.
func seeds(t *testing.T) []uint64 {
	t.Helper()
	text := *seedFlag
	if text == "" {
		text = os.Getenv("SEED")
	}
	if text == "" {
		chance := rand.Uint64N(1_000_000)
		if testing.Short() {
			return append(slices.Clone(fixedSeeds), chance)
		}
		return []uint64{chance}
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("seed %q: must be a whole number", text)
	}
	return []uint64{n}
}
