package crdt

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

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
					if _, all := who.known[last].settled(&who.known[last-1]); !all {
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

// drawSplits draws what a node may have heard, rivals and several
// acknowledgements of one region included.
func drawSplits(t *rapid.T) (s Splits) {
	for range rapid.IntRange(0, 14).Draw(t, "splits") {
		s.Add(drawSplit(t, rapid.Uint64Range(1, 12).Draw(t, "version")))
	}
	for range rapid.IntRange(0, 12).Draw(t, "acks") {
		s.Merge(ackOf(t, &s))
	}
	return s
}

// ackOf is what somebody knows who heard another acknowledgement.
func ackOf(t *rapid.T, s *Splits) *Splits {
	other := s.Clone()
	if len(other.known) > 0 {
		i := rapid.IntRange(0, len(other.known)-1).Draw(t, "of")
		region := rapid.SampledFrom([]string{"ap", "eu", "us", "za"}).Draw(t, "region")
		other.known[i].Acks = []Ack{{region, rapid.Int64Range(0, 5).Draw(t, "after")}}
	}
	return &other
}

func join(a, b Splits) Splits {
	out := a.Clone()
	out.Merge(&b)
	return out
}

func sameSplits(a, b Splits) bool {
	return reflect.DeepEqual(a.All(), b.All()) && a.Digest() == b.Digest()
}

// TestMergeOfSplitsIsAJoin, says truly whether anything was new, and changes
// nothing that was handed out before.
func TestMergeOfSplitsIsAJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawSplits(t), drawSplits(t), drawSplits(t)
		before := a.All()
		ab := join(a, b)
		switch {
		case !sameSplits(join(a, a), a):
			t.Error("not idempotent")
		case !sameSplits(ab, join(b, a)):
			t.Error("not commutative")
		case !sameSplits(join(ab, c), join(a, join(b, c))):
			t.Error("not associative")
		}
		merged := a.Clone()
		if changed := merged.Merge(&b); changed == sameSplits(merged, a) {
			t.Errorf("changed is %v", changed)
		}
		if (merged.Digest() == a.Digest()) != sameSplits(merged, a) {
			t.Error("the digest does not tell")
		}
		back, err := NewSplits(merged.All())
		if err != nil || !sameSplits(back, merged) {
			t.Errorf("handed out and taken in again: %v", err)
		}
		// In another order, and twice.
		all := merged.All()
		for i := range all {
			slices.Reverse(all[i].Rivals)
			slices.Reverse(all[i].Acks)
			if len(all[i].Rivals) < MaxRivals {
				all[i].Rivals = append(all[i].Rivals, all[i].Rivals[0])
			}
		}
		if again, err := NewSplits(all); err != nil || !sameSplits(again, merged) {
			t.Errorf("given in another order: %v", err)
		}
		back.Merge(&c)
		if !reflect.DeepEqual(before, a.All()) || !sameSplits(merged, ab) {
			t.Error("what was handed out changed")
		}
	})
}

// TestRivalsNeverRaiseAShare, whatever was acknowledged, and what regions may use
// of a version that is in dispute sums to no more than the total.
func TestRivalsNeverRaiseAShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSplits(t)
		if len(s.known) == 0 {
			return
		}
		start, total := rapid.Int64Range(0, 6).Draw(t, "start"), rapid.Int64Range(0, 1000).Draw(t, "total")
		rival := drawSplit(t, rapid.SampledFrom(s.known).Draw(t, "of").Version)
		more := s.Clone()
		more.Add(rival)
		var sum int64
		for _, region := range []string{"ap", "eu", "us", "za", "nobody"} {
			before, after := s.Share(region, start, total), more.Share(region, start, total)
			if after > before || after < 0 {
				t.Errorf("%s has %d, and %d with a rival: %+v", region, before, after, more.known)
			}
			sum += more.known[0].share(region, total)
		}
		if sum > total {
			t.Errorf("shares of rivals sum to %d of %d", sum, total)
		}
	})
}

// TestRivals: two regions were told different splits.
func TestRivals(t *testing.T) {
	var eu, us Splits
	eu.Add(Split{1, []Weight{{"eu", 3}, {"us", 1}}})
	us.Add(Split{1, []Weight{{"eu", 1}, {"us", 1}}})
	if len(eu.Conflicts()) != 0 || eu.Digest() == us.Digest() {
		t.Error("one split is no conflict, two are not alike")
	}
	if !eu.Merge(&us) || eu.Merge(&us) {
		t.Error("a rival is news once")
	}
	if got := eu.Conflicts(); len(got) != 1 || fmt.Sprint(got[0].Rivals) != "[eu:1 us:1 eu:3 us:1]" {
		t.Errorf("conflicts are %v", got)
	}
	if a, b := eu.Share("eu", 0, 100), eu.Share("us", 0, 100); a != 50 || b != 25 {
		t.Errorf("shares are %d and %d", a, b)
	}
	// All are told the next one alike: it ends the dispute where it applies.
	eu.Add(Split{2, []Weight{{"eu", 1}, {"us", 4}}})
	eu.Acknowledge(2, Ack{"eu", 10})
	eu.Acknowledge(2, Ack{"us", 20})
	for start, want := range map[int64]int64{10: 50, 15: 20, 20: 20, 21: 20} {
		if got := eu.Share("eu", start, 100); got != want {
			t.Errorf("a period from %d: share %d, want %d", start, got, want)
		}
	}
	if got := eu.Share("us", 21, 100); got != 80 {
		t.Errorf("share %d, want 80", got)
	}
	// All of time has periods.
	early := Splits{}
	early.Add(Split{1, []Weight{{"us", 1}}})
	early.Add(Split{2, []Weight{{"eu", 1}}})
	early.Acknowledge(2, Ack{"eu", -10})
	early.Acknowledge(2, Ack{"us", -10})
	if got := early.Share("eu", -9, 100); got != 100 {
		t.Errorf("share %d, want 100", got)
	}
}

// TestTooManyRivals: nobody has a share where not even the rivals are known.
func TestTooManyRivals(t *testing.T) {
	var s Splits
	for i := range MaxRivals + 1 {
		if s.Share("eu", 0, 100) == 0 && i > 0 {
			t.Errorf("no share with %d rivals", i)
		}
		s.Add(Split{1, []Weight{{"eu", uint32(i + 1)}, {"us", 1}}})
	}
	if known := s.All(); len(known[0].Rivals) != MaxRivals || !known[0].More || s.Share("eu", 0, 100) != 0 {
		t.Errorf("%+v", known)
	}
}

// TestTheNewestVersionsAreKept, and of acknowledgements the first regions'.
func TestTheNewestVersionsAreKept(t *testing.T) {
	var s Splits
	for v := range uint64(MaxSplits + 3) {
		s.Add(Split{v + 1, []Weight{{"eu", 1}}})
	}
	if s.Len() != MaxSplits || s.All()[0].Version != 4 || s.Add(Split{1, []Weight{{"eu", 1}}}) {
		t.Errorf("%+v", s.All())
	}
	for _, w := range slices.Backward(manyWeights(MaxSplitRegions + 5)) {
		s.Acknowledge(4, Ack{w.Region, 7})
	}
	if acks := s.All()[0].Acks; len(acks) != MaxSplitRegions || acks[0].Region != "r00" {
		t.Errorf("%d acknowledgements from %v on", len(acks), acks[0])
	}
}

// TestARegionAcknowledgesOnce; where it named two instants all the same, periods
// in between are in doubt.
func TestARegionAcknowledgesOnce(t *testing.T) {
	var s Splits
	s.Add(Split{1, []Weight{{"eu", 9}, {"us", 1}}})
	s.Add(Split{2, []Weight{{"eu", 1}, {"us", 9}}})
	if !s.Acknowledge(2, Ack{"eu", 10}) || s.Acknowledge(2, Ack{"eu", 30}) || s.Acknowledge(3, Ack{"eu", 10}) {
		t.Error("acknowledged twice, or what is not known")
	}
	s.Acknowledge(2, Ack{"us", 10})
	other := s.Clone()
	other.known[1].Acks = []Ack{{"us", 30}}
	s.Merge(&other)
	for start, want := range map[int64][2]int64{10: {90, 10}, 11: {10, 10}, 30: {10, 10}, 31: {10, 90}} {
		if eu, us := s.Share("eu", start, 100), s.Share("us", start, 100); eu != want[0] || us != want[1] {
			t.Errorf("a period from %d: %d and %d, want %v", start, eu, us, want)
		}
	}
}

// TestSplitsOfOthersAreChecked: what came from elsewhere keeps the rules.
func TestSplitsOfOthersAreChecked(t *testing.T) {
	good := Split{1, []Weight{{"eu", 1}}}
	many := make([]Known, MaxSplits+1)
	for name, known := range map[string][]Known{
		"none of a version": {{Version: 1}},
		"another version":   {{Version: 2, Rivals: []Split{good}}},
		"a bad split":       {{Version: 1, Rivals: []Split{{1, nil}}}},
		"out of order":      {{Version: 1, Rivals: []Split{good}}, {Version: 1, Rivals: []Split{good}}},
		"too many":          many,
		"too many rivals":   {{Version: 1, Rivals: slices.Repeat([]Split{good}, MaxRivals+1)}},
		"too many acks":     {{Version: 1, Rivals: []Split{good}, Acks: make([]Ack, MaxAcks+1)}},
		"ack of nobody":     {{Version: 1, Rivals: []Split{good}, Acks: []Ack{{"", 1}}}},
	} {
		if _, err := NewSplits(known); !errors.Is(err, ErrSplit) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
