package crdt

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestGiftsAreAMap compares with a map.
func TestGiftsAreAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var g Gifts
		want := map[string]int64{}
		for _, region := range rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "ab", "b", strings.Repeat("r", 128)}), 0, 10).Draw(t, "regions") {
			units := rapid.Int64Range(0, MaxUnits).Draw(t, "units")
			g = g.With(region, units)
			want[region] = units
			if units == 0 {
				delete(want, region)
			}
		}
		if got := maps.Collect(g.All()); !maps.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		var total int64
		for region, units := range want {
			total += units
			if g.To(region) != units {
				t.Fatalf("to %q: %d, want %d", region, g.To(region), units)
			}
		}
		if g.Total() != total || g.Len() != len(want) || g.To("nobody") != 0 {
			t.Fatalf("total %d of %d regions, want %d of %d", g.Total(), g.Len(), total, len(want))
		}
	})
}

func TestGiftsValidate(t *testing.T) {
	whole := Entry{Replica: Replica{"eu", 1}, Version: 1, Gifts: Gifts("").With("us", MaxUnits).With("ap", 1)}
	if err := whole.Validate(); err != nil {
		t.Fatal(err)
	}
	many := Gifts("")
	for i := range MaxGiftRegions + 1 {
		many = many.With(strings.Repeat("x", i+1), 1)
	}
	for name, g := range map[string]Gifts{
		"to itself":   Gifts("").With("eu", 1),
		"no region":   Gifts("").With("", 1),
		"long region": Gifts("").With(strings.Repeat("x", MaxRegionBytes+1), 1),
		"huge":        Gifts("").With("us", MaxUnits+1),
		"many":        many,
	} {
		e := whole
		e.Gifts = g
		if err := e.Validate(); !errors.Is(err, ErrEntry) {
			t.Errorf("%s: %v, want ErrEntry", name, err)
		}
	}
}

// TestRightsAreConserved: whatever is given, taken and granted, the regions'
// rights and the value together are what was shared out and granted.
func TestRightsAreConserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := &Row{}
		shares := map[string]int64{}
		var total int64
		for _, region := range regionNames {
			shares[region] = rapid.Int64Range(0, 1000).Draw(t, "share")
			total += shares[region]
			for nonce := range rapid.Uint64Range(0, 2).Draw(t, "replicas") {
				e := Entry{Replica: Replica{region, nonce + 1}, Version: 1}
				e.Taken = rapid.Int64Range(0, 1000).Draw(t, "taken")
				e.Returned = rapid.Int64Range(0, e.Taken).Draw(t, "returned")
				e.Granted = rapid.Int64Range(0, 10).Draw(t, "granted")
				for _, to := range regionNames {
					if to != region {
						e.Gifts = e.Gifts.With(to, rapid.Int64Range(0, 100).Draw(t, "gift"))
					}
				}
				total += e.Granted
				row.Merge(e)
			}
		}
		sum := row.Value()
		for _, region := range regionNames {
			sum += row.Rights(region, shares[region])
		}
		if sum != total {
			t.Fatalf("rights and value are %d together, %d were shared out and granted", sum, total)
		}
	})
}
