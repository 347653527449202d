package quotas

import (
	"sync"

	"weir/crdt"
)

// resets knows the newest generation of rows that were reset, which are few, so
// that a walk over all rows passes over earlier ones. A walk finds them by
// itself: asking for each row would take a lock a million times.
type resets struct {
	mu     sync.Mutex              // guards newest
	newest map[crdt.RowName]uint32 // by the row's name in generation 0
}

// walk runs one walk over all rows, which calls stale for those of the current
// periods, and says whether it met generations that it did not know of before:
// then what it found is not to be used. One walk at a time.
func (r *resets) walk(now int64, walk func(stale func(crdt.RowName) bool)) (news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.newest {
		if name.End <= now {
			delete(r.newest, name)
		}
	}
	walk(func(name crdt.RowName) bool {
		if name.Generation == 0 && len(r.newest) == 0 {
			return false
		}
		generation := name.Generation
		name.Generation = 0
		newest := r.newest[name]
		if generation > newest {
			if r.newest == nil {
				r.newest = make(map[crdt.RowName]uint32)
			}
			r.newest[name] = generation
			news = true
		}
		return generation < newest
	})
	return news
}
