package embedded

import (
	"math/bits"

	"weir/limiter/bucket"
	"weir/limiter/store"
)

// slot is one bucket; one that is empty has FullAtUs 0.
type slot struct {
	id    store.ID
	state bucket.State
}

// table holds buckets by ID: an open-addressed array with linear probing. It
// is at most 80 % full, and 64 % after it has been rebuilt: 40 to 50 bytes a
// bucket. The zero table is empty.
type table struct {
	slots  []slot
	used   int
	cursor int // where the next look for ended buckets begins
}

// home is where a hash's probe begins. Its high bits choose, the low ones chose
// the shard.
func (t *table) home(hash uint64) int {
	hi, _ := bits.Mul64(hash, uint64(len(t.slots)))
	return int(hi)
}

func (t *table) next(i int) int {
	if i++; i == len(t.slots) {
		return 0
	}
	return i
}

// find returns a bucket's state, or nil. It stands until the table changes.
func (t *table) find(hash uint64, id *store.ID) *bucket.State {
	if len(t.slots) == 0 {
		return nil
	}
	for i := t.home(hash); t.slots[i].state.FullAtUs != 0; i = t.next(i) {
		if t.slots[i].id == *id {
			return &t.slots[i].state
		}
	}
	return nil
}

// hasRoom says whether one more bucket fits without a rebuild.
func (t *table) hasRoom() bool { return (t.used+1)*5 <= len(t.slots)*4 }

// insert adds a bucket that is not there; there must be room.
func (t *table) insert(hash uint64, id store.ID, state bucket.State) {
	i := t.home(hash)
	for t.slots[i].state.FullAtUs != 0 {
		i = t.next(i)
	}
	t.slots[i] = slot{id, state}
	t.used++
}

// rebuild makes room, and leaves out what has ended. It returns how many that
// were.
func (t *table) rebuild(nowUs int64, hash func(*store.ID) uint64) (dropped int) {
	live := 0
	for i := range t.slots {
		if t.slots[i].state.FullAtUs > nowUs {
			live++
		}
	}
	old := *t
	*t = table{slots: make([]slot, max(16, (live+1)*25/16))}
	for i := range old.slots {
		if s := &old.slots[i]; s.state.FullAtUs > nowUs {
			t.insert(hash(&s.id), s.id, s.state)
		}
	}
	return old.used - t.used
}

// dropEnded looks at the next few slots and drops the buckets that are full
// again. It returns how many those were.
func (t *table) dropEnded(nowUs int64, look int, hash func(*store.ID) uint64) (dropped int) {
	for range min(look, len(t.slots)) {
		if t.cursor >= len(t.slots) {
			t.cursor = 0
		}
		if at := t.slots[t.cursor].state.FullAtUs; at != 0 && at <= nowUs {
			t.remove(t.cursor, hash) // another may have moved here: look again
			dropped++
			continue
		}
		t.cursor++
	}
	return dropped
}

// remove empties a slot and moves back what had to probe past it.
func (t *table) remove(hole int, hash func(*store.ID) uint64) {
	t.used--
	for i := t.next(hole); t.slots[i].state.FullAtUs != 0; i = t.next(i) {
		home := t.home(hash(&t.slots[i].id))
		// It may move unless its home lies after the hole, cyclically.
		if after := (home - hole + len(t.slots)) % len(t.slots); after != 0 && after <= (i-hole+len(t.slots))%len(t.slots) {
			continue
		}
		t.slots[hole] = t.slots[i]
		hole = i
	}
	t.slots[hole] = slot{}
}
