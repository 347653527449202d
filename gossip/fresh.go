package gossip

import (
	"time"

	"weir/crdt"
)

// fresh is the rows that were new here lately: others may not know their names.
// They are kept for one to two times freshFor.
type fresh struct {
	now, before map[crdt.RowID]struct{}
	turned      time.Duration
	all         bool // every row counts as new
}

func newFresh() fresh {
	return fresh{now: make(map[crdt.RowID]struct{}), before: make(map[crdt.RowID]struct{})}
}

func (f *fresh) add(id crdt.RowID) { f.now[id] = struct{}{} }

func (f *fresh) has(id crdt.RowID) bool {
	if _, ok := f.now[id]; ok || f.all {
		return true
	}
	_, ok := f.before[id]
	return ok
}

// age forgets what is no longer new.
func (f *fresh) age(now time.Duration) {
	if now-f.turned < freshFor {
		return
	}
	f.turned = now
	f.now, f.before = make(map[crdt.RowID]struct{}), f.now
}
