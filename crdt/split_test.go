package crdt

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func drawSplit(t *rapid.T, version uint64) Split {
	weights := []Weight{{"ap", 0}, {"eu", 0}, {"us", 0}, {"za", 0}}[:rapid.IntRange(1, 4).Draw(t, "regions")]
	weights = slices.Clone(weights)
	for i := range weights {
		weights[i].Weight = rapid.OneOf(rapid.Uint32Range(0, 5), rapid.Uint32Range(0, MaxWeight-1)).Draw(t, "weight")
	}
	weights[0].Weight++
	s, err := NewSplit(version, weights)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSharesSumToTheTotal, and each is within a unit of its exact part.
func TestSharesSumToTheTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSplit(t, 1)
		total := rapid.OneOf(rapid.Int64Range(0, 20), rapid.Int64Range(0, MaxUnits)).Draw(t, "total")
		var sum int64
		var weights uint64
		for _, w := range s.Weights {
			weights += uint64(w.Weight)
		}
		for _, w := range s.Weights {
			share := s.Share(w.Region, total)
			sum += share
			exact := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(total), big.NewInt(int64(w.Weight))), new(big.Int).SetUint64(weights))
			if off := new(big.Rat).Sub(new(big.Rat).SetInt64(share), exact); off.Abs(off).Cmp(big.NewRat(1, 1)) >= 0 {
				t.Fatalf("%s gets %d of %d, its part is %s", w.Region, share, total, exact)
			}
		}
		if sum != total {
			t.Fatalf("shares sum to %d of %d", sum, total)
		}
	})
}

func TestShares(t *testing.T) {
	for _, in := range []struct {
		weights []Weight
		total   int64
		want    []int64
	}{
		{[]Weight{{"a", 1}, {"b", 1}, {"c", 1}}, 101, []int64{34, 34, 33}},
		{[]Weight{{"a", 1}, {"b", 2}, {"c", 1}}, 101000, []int64{25250, 50500, 25250}},
		{[]Weight{{"a", 1}, {"b", 2}}, 5, []int64{2, 3}}, // 1⅔ and 3⅓: the larger remainder first
		{[]Weight{{"a", 0}, {"b", 1}}, 7, []int64{0, 7}},
		{[]Weight{{"a", 1}, {"b", 1}}, 0, []int64{0, 0}},
	} {
		s, err := NewSplit(1, in.weights)
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range in.weights {
			if got := s.Share(w.Region, in.total); got != in.want[i] {
				t.Errorf("%v of %d: %s gets %d, want %d", in.weights, in.total, w.Region, got, in.want[i])
			}
		}
		if got := s.Share("nobody", in.total); got != 0 {
			t.Errorf("who is not in the split gets %d", got)
		}
	}
}

func TestSplitValidate(t *testing.T) {
	for name, s := range map[string]Split{
		"version 0":   {0, []Weight{{"a", 1}}},
		"no weight":   {1, []Weight{{"a", 0}}},
		"nobody":      {1, nil},
		"no name":     {1, []Weight{{"", 1}}},
		"out of line": {1, []Weight{{"b", 1}, {"a", 1}}},
		"twice":       {1, []Weight{{"a", 1}, {"a", 1}}},
		"long name":   {1, []Weight{{strings.Repeat("a", 64), 1}}},
		"heavy":       {1, []Weight{{"a", MaxWeight + 1}}},
		"too many":    {1, manyWeights(MaxSplitRegions + 1)},
	} {
		if err := s.Validate(); !errors.Is(err, ErrSplit) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func manyWeights(n int) (weights []Weight) {
	for i := range n {
		weights = append(weights, Weight{fmt.Sprintf("r%02d", i), 1})
	}
	return weights
}
