package crdt

import (
	"fmt"
	"math/big"

	"pgregory.net/rapid"
)

// naiveRow is the deliberately dumb second implementation: it keeps every
// entry it was ever told and works everything out when asked.
type naiveRow []Entry

func (n *naiveRow) merge(e Entry) bool {
	before := fmt.Sprint(n.entries())
	*n = append(*n, e)
	return fmt.Sprint(n.entries()) != before
}

func (n naiveRow) entries() map[Replica]Entry {
	out := map[Replica]Entry{}
	for _, e := range n {
		best := Entry{Replica: e.Replica}
		for _, f := range n {
			if f.Replica == e.Replica && f.Version > best.Version {
				best = f
			}
		}
		for _, f := range n {
			if f.Replica == e.Replica && f.Version == best.Version {
				best.Taken = max(best.Taken, f.Taken)
				best.Returned = max(best.Returned, f.Returned)
				best.Granted = max(best.Granted, f.Granted)
				best.Unmet = max(best.Unmet, f.Unmet)
				for region, units := range f.Gifts.All() {
					best.Gifts = best.Gifts.With(region, max(units, best.Gifts.To(region)))
				}
			}
		}
		out[e.Replica] = best
	}
	return out
}

// net sums what keep lets through, without any width to overflow.
func (n naiveRow) net(keep func(Replica) bool) int64 {
	sum := new(big.Int)
	for r, e := range n.entries() {
		if keep(r) {
			sum.Add(sum, big.NewInt(e.Taken))
			sum.Sub(sum, big.NewInt(e.Returned))
		}
	}
	if !sum.IsInt64() {
		panic("the generator made numbers too large to compare")
	}
	return sum.Int64()
}

var regionNames = []string{"ap", "eu", "us"}

// entryGen draws from few replicas and versions, so that equal versions with
// different numbers, replays and overtaking all happen often.
func entryGen() *rapid.Generator[Entry] {
	return rapid.Custom(func(t *rapid.T) Entry {
		return Entry{
			Replica: Replica{
				Region: rapid.SampledFrom(regionNames).Draw(t, "region"),
				Nonce:  rapid.Uint64Range(1, 3).Draw(t, "nonce"),
			},
			Version:  rapid.Uint64Range(1, 5).Draw(t, "version"),
			Taken:    rapid.Int64Range(0, MaxUnits).Draw(t, "taken"),
			Returned: rapid.Int64Range(0, MaxUnits).Draw(t, "returned"),
			Granted:  rapid.Int64Range(0, 3).Draw(t, "granted"),
			Unmet:    rapid.Int64Range(0, 3).Draw(t, "unmet"),
			Gifts:    giftsGen().Draw(t, "gifts"),
		}
	})
}

// giftsGen gives to regions that no replica is of: those of regionNames would
// sometimes give to themselves.
func giftsGen() *rapid.Generator[Gifts] {
	return rapid.Custom(func(t *rapid.T) (g Gifts) {
		for region, units := range rapid.MapOfN(rapid.SampledFrom([]string{"a", "bb", "zz"}), rapid.Int64Range(1, MaxUnits), 0, 3).Draw(t, "gifts") {
			g = g.With(region, units)
		}
		return g
	})
}

func entriesGen() *rapid.Generator[[]Entry] { return rapid.SliceOfN(entryGen(), 0, 12) }

func rowOf(entries []Entry) *Row {
	r := &Row{}
	for _, e := range entries {
		r.Merge(e)
	}
	return r
}
