package sim

import (
	"errors"
	"slices"
	"testing"

	"weir/crdt"
	wirev1 "weir/proto/wire/v1"
)

// Each mutant is a mistake somebody made once. The simulator must see it, and
// say what is wrong.
var mutants = []struct {
	Mutant
	checkers []string // any of which may be the first to see it
}{
	{Mutant{Name: "merge by sum", OwnNumbers: true, Frame: mergeBySum}, []string{"ledger", "converge", "grow"}},
	{Mutant{Name: "scalar maximum of P per region", OwnNumbers: true, Record: scalarRecord, Frame: scalarFrame}, []string{"ledger", "grow"}},
	{Mutant{Name: "last message wins", Frame: lastMessageWins}, []string{"invented", "grow"}},
	{Mutant{Name: "requests of sessions are dropped", Frame: dropWant}, []string{"converge", "sync"}},
	{Mutant{Name: "the younger age is believed", Frame: forgeStamps()}, []string{"ages"}},
	{Mutant{Name: "one replica over two reigns", ReuseReplica: true}, []string{"ledger", "converge", "invented", "grow"}},
}

func TestMutantsAreCaught(t *testing.T) {
	const tries = 20
	for i := range mutants {
		m := &mutants[i]
		t.Run(m.Name, func(t *testing.T) {
			for s := uint64(1); s <= tries; s++ {
				_, err := Run(Options{Seed: s, Mutant: &m.Mutant})
				var v *Violation
				if !errors.As(err, &v) {
					continue
				}
				if !slices.Contains(m.checkers, v.Checker) {
					t.Fatalf("seed %d: seen by %q, want one of %q: %v", s, v.Checker, m.checkers, v)
				}
				t.Logf("seed %d: %.300s", s, v.Error())
				return
			}
			t.Fatalf("not caught by %d schedules", tries)
		})
	}
}

func eachEntry(f *wirev1.Frame, do func(*wirev1.Row, *wirev1.Entry, crdt.Replica)) {
	for _, r := range f.Rows {
		for _, e := range r.Entries {
			do(r, e, crdt.Replica{Region: f.Regions[e.Region], Nonce: e.Replica})
		}
	}
}

// mergeBySum adds what comes to what is there.
func mergeBySum(f *wirev1.Frame, local func(*wirev1.Row, crdt.Replica) crdt.Entry) {
	eachEntry(f, func(r *wirev1.Row, e *wirev1.Entry, replica crdt.Replica) {
		if have := local(r, replica); have.Version != e.Version && have.Taken < 1<<40 {
			// Far enough ahead that no honest entry takes the sum back.
			e.Version = max(e.Version, have.Version) + 1<<20
			e.Taken += uint64(have.Taken)
			e.Returned += uint64(have.Returned)
		}
	})
}

// A region's count as one number that merges by maximum: reigns and nodes that
// decide alone overwrite one another.
func scalarRecord(e crdt.Entry) crdt.Entry {
	e.Replica.Nonce, e.Version = 0, uint64(e.Taken)
	return e
}

func scalarFrame(f *wirev1.Frame, _ func(*wirev1.Row, crdt.Replica) crdt.Entry) {
	eachEntry(f, func(_ *wirev1.Row, e *wirev1.Entry, _ crdt.Replica) {
		e.Replica, e.Version = 0, e.Taken
	})
}

// lastMessageWins takes whatever comes for newer.
func lastMessageWins(f *wirev1.Frame, local func(*wirev1.Row, crdt.Replica) crdt.Entry) {
	eachEntry(f, func(r *wirev1.Row, e *wirev1.Entry, replica crdt.Replica) {
		if have := local(r, replica); have.Version > e.Version {
			e.Version = have.Version + 1
		}
	})
}

// forgeStamps makes every age that of a new state, as if there were no stamps.
func forgeStamps() func(*wirev1.Frame, func(*wirev1.Row, crdt.Replica) crdt.Entry) {
	stamp := uint64(1 << 50)
	return func(f *wirev1.Frame, _ func(*wirev1.Row, crdt.Replica) crdt.Entry) {
		for _, h := range f.Heard {
			stamp++
			h.Stamp = stamp
		}
	}
}

func dropWant(f *wirev1.Frame, _ func(*wirev1.Row, crdt.Replica) crdt.Entry) { f.Request = nil }
