package crdt

import "strings"

// interner gives small numbers to values that many rows share, counts who uses
// them, and takes the numbers back when nobody does.
type interner[T comparable] struct {
	numbers map[T]uint32
	values  []interned[T]
	free    []uint32
}

type interned[T comparable] struct {
	value T
	users int
}

func newInterner[T comparable]() interner[T] {
	return interner[T]{numbers: make(map[T]uint32)}
}

// number returns the number of a value in use.
func (in *interner[T]) number(v T) (uint32, bool) {
	n, ok := in.numbers[v]
	return n, ok
}

func (in *interner[T]) value(n uint32) T { return in.values[n].value }

// acquire counts one more user of v. own is called when v is new and returns
// the copy to keep.
func (in *interner[T]) acquire(v T, own func(T) T) uint32 {
	n, ok := in.numbers[v]
	if !ok {
		n = in.add(own(v))
	}
	in.values[n].users++
	return n
}

func (in *interner[T]) add(v T) uint32 {
	var n uint32
	if last := len(in.free) - 1; last >= 0 {
		n, in.free = in.free[last], in.free[:last]
		in.values[n].value = v
	} else {
		n = uint32(len(in.values))
		in.values = append(in.values, interned[T]{value: v})
	}
	in.numbers[v] = n
	return n
}

func (in *interner[T]) release(n uint32) {
	used := &in.values[n]
	used.users--
	if used.users > 0 {
		return
	}
	delete(in.numbers, used.value)
	var zero T
	used.value = zero
	in.free = append(in.free, n)
}

// period is what the rows of one rule in one period share.
type period struct {
	rule       string
	start, end int64
	generation uint32
}

// A kept string must not pin the message it was cut from.
func ownPeriod(p period) period {
	p.rule = strings.Clone(p.rule)
	return p
}

func ownReplica(r Replica) Replica {
	r.Region = strings.Clone(r.Region)
	return r
}
