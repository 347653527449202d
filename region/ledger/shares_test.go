package ledger

import (
	"sync"
	"sync/atomic"
	"testing"

	"weir/crdt"
)

func splitOf(t testing.TB, version uint64, eu, us uint32) *crdt.Splits {
	t.Helper()
	split, err := crdt.NewSplit(version, []crdt.Weight{{Region: "eu", Weight: eu}, {Region: "us", Weight: us}})
	if err != nil {
		t.Fatal(err)
	}
	var s crdt.Splits
	s.Add(split)
	return &s
}

// TestSharesFollowTheSplits: an answer is that of the splits that are known when
// it is asked for, also one that was given before.
func TestSharesFollowTheSplits(t *testing.T) {
	var current atomic.Pointer[crdt.Splits]
	current.Store(&crdt.Splits{})
	s := newShares("eu", current.Load)
	want := func(start, total, eu, us int64) {
		t.Helper()
		for range 2 {
			if a, b := s.of("eu", start, total), s.of("us", start, total); a != eu || b != us {
				t.Errorf("shares of %d from %d are %d and %d, want %d and %d", total, start, a, b, eu, us)
			}
		}
	}
	want(0, 100, 0, 0) // nothing is decided before any split is known
	current.Store(splitOf(t, 1, 1, 3))
	want(0, 100, 25, 75)
	want(7, 100, 25, 75)
	rivals := current.Load().Clone()
	rivals.Merge(splitOf(t, 1, 3, 1))
	current.Store(&rivals)
	want(0, 100, 25, 25)
	next := rivals.Clone()
	next.Merge(splitOf(t, 2, 1, 1))
	next.Acknowledge(2, crdt.Ack{Region: "eu", After: 5})
	next.Acknowledge(2, crdt.Ack{Region: "us", After: 6})
	current.Store(&next)
	want(5, 100, 25, 25)
	want(7, 100, 50, 50)
	for i := range int64(2 * maxShares) {
		want(7, 100+2*i, 50+i, 50+i)
	}
	if n := len(s.known.Load().shares); n > maxShares {
		t.Errorf("%d answers are kept", n)
	}
}

// TestSharesAreAskedAtOnce while the splits change.
func TestSharesAreAskedAtOnce(t *testing.T) {
	var current atomic.Pointer[crdt.Splits]
	versions := []*crdt.Splits{splitOf(t, 1, 1, 3), splitOf(t, 1, 3, 1)}
	current.Store(versions[0])
	s := newShares("eu", current.Load)
	var askers sync.WaitGroup
	for range 4 {
		askers.Go(func() {
			for range 20_000 {
				if got := s.of("eu", 0, 100); got != 25 && got != 75 {
					t.Errorf("share is %d", got)
					return
				}
			}
		})
	}
	for i := range 1000 {
		current.Store(versions[i%2])
	}
	askers.Wait()
	current.Store(versions[1])
	if got := s.of("eu", 0, 100); got != 75 {
		t.Errorf("share is %d of the splits before", got)
	}
}
