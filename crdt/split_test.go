package crdt

import (
	"errors"
	"math/big"
	"slices"
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
		"heavy":       {1, []Weight{{"a", MaxWeight + 1}}},
	} {
		if err := s.Validate(); !errors.Is(err, ErrSplit) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestChangeOfSplitIsSafe: regions hear of a new split and of each other's
// acknowledgements in any order and as late as it may be; for every period,
// the most each of them ever used sums to no more than the total.
func TestChangeOfSplitIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := drawSplit(t, 1)
		splits := []Split{first}
		regions := []string{"ap", "eu", "us", "za"}
		know := map[string]*Splits{}
		for _, r := range regions {
			know[r] = &Splits{}
			know[r].Add(first)
		}
		const total = 100
		used := map[int64]map[string]int64{} // by period, the most each region used
		now := int64(0)
		t.Repeat(map[string]func(*rapid.T){
			"change": func(t *rapid.T) {
				if len(splits) == 3 {
					return
				}
				// One change at a time: the one before is settled.
				who := know[rapid.SampledFrom(regions).Draw(t, "at")]
				last := len(who.known) - 1
				if last != len(splits)-1 {
					return
				}
				if last > 0 {
					if _, all := who.known[last].settled(&who.known[last-1].Split); !all {
						return
					}
				}
				next := drawSplit(t, uint64(len(splits)+1))
				splits = append(splits, next)
				who.Add(next)
			},
			"hear": func(t *rapid.T) {
				know[rapid.SampledFrom(regions).Draw(t, "to")].Merge(know[rapid.SampledFrom(regions).Draw(t, "from")])
			},
			"acknowledge": func(t *rapid.T) {
				r := rapid.SampledFrom(regions).Draw(t, "region")
				if newest, ok := know[r].Newest(); ok && newest.Version > 1 {
					know[r].Acknowledge(newest.Version, Ack{r, now})
				}
			},
			"wait": func(*rapid.T) { now++ },
			"use": func(t *rapid.T) {
				r := rapid.SampledFrom(regions).Draw(t, "region")
				start := rapid.Int64Range(max(0, now-2), now).Draw(t, "start")
				if used[start] == nil {
					used[start] = map[string]int64{}
				}
				used[start][r] = max(used[start][r], know[r].Share(r, start, total))
			},
			"": func(t *rapid.T) {
				for start, by := range used {
					var sum int64
					for _, units := range by {
						sum += units
					}
					if sum > total {
						t.Fatalf("period from %d: %v sum to %d of %d", start, by, sum, total)
					}
				}
			},
		})
	})
}
