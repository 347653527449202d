package quota

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// units draws numbers of every size, the ends of what is allowed included.
func units(t *rapid.T, label string) int64 {
	return rapid.OneOf(rapid.Int64Range(-10, 10), rapid.Int64Range(-MaxUnits, MaxUnits),
		rapid.SampledFrom([]int64{-MaxUnits, MaxUnits - 1, MaxUnits})).Draw(t, label)
}

// TestFitsWithinTheLimit compares with the inequality in numbers that cannot
// overflow. Only the very last unit of the largest limit may differ.
func TestFitsWithinTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit, elsewhere, net, cost := units(t, "limit"), units(t, "elsewhere"), units(t, "net"), max(1, units(t, "cost"))
		sum := new(big.Int)
		for _, n := range []int64{elsewhere, net, cost} {
			sum.Add(sum, big.NewInt(n))
		}
		room := new(big.Int).Sub(big.NewInt(limit), sum)
		got := Sums{Net: net}.Try(Bounds{Ceiling(limit, elsewhere), Unbounded}, cost) == Fits
		if got && room.Sign() < 0 {
			t.Fatalf("fits, %s too many", room)
		}
		inRange := limit-elsewhere < MaxUnits && limit-elsewhere >= -MaxUnits
		if !got && room.Sign() >= 0 && inRange {
			t.Fatalf("does not fit with %s to spare", room)
		}
	})
}

func TestFitsEdges(t *testing.T) {
	for _, in := range []struct {
		limit, elsewhere, net, cost int64
		want                        bool
	}{
		{100, 40, 50, 10, true},
		{100, 40, 50, 11, false},
		{100, 140, 0, 1, false},
		{100, 140, 0, 0, true},
		{100, -50, 100, 50, true},
		{100, -50, 100, 51, false},
		{100, 0, 0, -1, false},
		{100, 0, 0, 1<<63 - 1, false},
		{100, 1<<63 - 1, 0, 1, false},
		{100, -1 << 63, 0, 1, true},
	} {
		if got := (Sums{Net: in.net}).Try(Bounds{Ceiling(in.limit, in.elsewhere), Unbounded}, in.cost) == Fits; got != in.want {
			t.Errorf("%+v: got %v", in, got)
		}
	}
}

func drawCount(t *rapid.T, label string) Count {
	// One version is one count: that is its writer's law.
	n := rapid.Int64Range(0, 5).Draw(t, label+" version")
	return Count{Version: uint64(n), Taken: n * 2, Returned: n, Unmet: 5 - n}
}

func TestMergeIsAJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawCount(t, "a"), drawCount(t, "b"), drawCount(t, "c")
		if a.Merge(b) != b.Merge(a) {
			t.Fatalf("%v and %v: order matters", a, b)
		}
		if a.Merge(b).Merge(c) != a.Merge(b.Merge(c)) {
			t.Fatalf("%v, %v, %v: grouping matters", a, b, c)
		}
		if a.Merge(a) != a {
			t.Fatalf("%v merged with itself is %v", a, a.Merge(a))
		}
	})
}

func TestTakeMovesTheVersion(t *testing.T) {
	c := Count{Version: 3, Taken: 10, Returned: 4}
	if got := c.Take(0, 100); got != c {
		t.Errorf("a look changed %v to %v", c, got)
	}
	if got, want := c.Take(5, 100), (Count{Version: 4, Taken: 15, Returned: 4}); got != want || got.Net() != 11 {
		t.Errorf("got %v, want %v", got, want)
	}
}
