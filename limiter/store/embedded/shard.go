package embedded

import (
	"encoding/binary"
	"math/bits"
	"sync"
	"sync/atomic"

	"weir/limiter/bucket"
	"weir/limiter/store"
)

// shards is how many parts the state lies in, each under its own lock. So many
// that rebuilding one takes well under a millisecond with 10 million keys.
const shards = 1024

// shard is a part of the store's state.
type shard struct {
	mu      sync.Mutex
	buckets table
	rows    map[store.ID]*row
	_       [64]byte // no two locks on one cache line
}

// hash folds an ID with this process's seeds: IDs are digests that nobody can
// aim, but keys could be searched for whose digests lie close together.
func (s *Store) hash(id *store.ID) uint64 {
	hi, lo := bits.Mul64(binary.LittleEndian.Uint64(id[:8])^s.seeds[0], binary.LittleEndian.Uint64(id[8:])^s.seeds[1])
	return hi ^ lo
}

func (s *Store) shard(hash uint64) *shard { return &s.shards[hash%shards] }

const (
	// looks is how many slots or rows each new bucket or row looks at for an
	// ended one, in its own shard.
	looks = 4
	// visits is how many other shards are looked into when the store is full,
	// and looksWhenFull how far, in each and at home.
	visits        = 32
	looksWhenFull = 16
)

// putBucket writes a bucket's state. It returns false when the bucket is new
// and the store full: then nothing is written.
func (s *Store) putBucket(sh *shard, hash uint64, id *store.ID, state bucket.State, nowUs int64) bool {
	if have := sh.buckets.find(hash, id); have != nil {
		*have = state
		return true
	}
	s.dropEndedBuckets(sh, nowUs, looks)
	if !s.reserve(&s.keys, s.maxKeys, sh, nowUs, s.dropEndedBuckets) {
		return false
	}
	if !sh.buckets.hasRoom() {
		s.keys.Add(int64(-sh.buckets.rebuild(nowUs, s.hash)))
	}
	sh.buckets.insert(hash, *id, state)
	return true
}

// addRow adds an empty row, or returns nil when the store is full.
func (s *Store) addRow(sh *shard, id store.ID, name store.RowName, nowUs int64) *row {
	s.dropEndedRows(sh, nowUs, looks)
	if !s.reserve(&s.rows, s.maxRows, sh, nowUs, s.dropEndedRows) {
		return nil
	}
	if sh.rows == nil {
		sh.rows = make(map[store.ID]*row)
	}
	r := &row{name: name}
	sh.rows[id] = r
	return r
}

// reserve counts one more in, unless there are as many as may be and no ended
// one is found at home or in the next few other shards. A shard that is locked
// is passed over: waiting for it while holding ours could be for ever.
func (s *Store) reserve(held *atomic.Int64, most int64, home *shard, nowUs int64, dropEnded func(*shard, int64, int)) bool {
	if held.Add(1) <= most {
		return true
	}
	dropEnded(home, nowUs, looksWhenFull)
	for range visits {
		if held.Load() <= most {
			return true
		}
		if sh := &s.shards[s.visited.Add(1)%shards]; sh.mu.TryLock() {
			dropEnded(sh, nowUs, looksWhenFull)
			sh.mu.Unlock()
		}
	}
	if held.Load() <= most {
		return true
	}
	held.Add(-1)
	return false
}

func (s *Store) dropEndedBuckets(sh *shard, nowUs int64, look int) {
	if dropped := sh.buckets.dropEnded(nowUs, look, s.hash); dropped > 0 {
		s.keys.Add(int64(-dropped))
	}
}

func (s *Store) dropRow(sh *shard, id store.ID) {
	delete(sh.rows, id)
	s.rows.Add(-1)
}

// dropEndedRows looks at a few rows, wherever the map begins this time, and
// drops those that are past their grace.
func (s *Store) dropEndedRows(sh *shard, nowUs int64, look int) {
	for id, r := range sh.rows {
		if r.name.GoneUs() <= nowUs {
			s.dropRow(sh, id)
		}
		if look--; look == 0 {
			return
		}
	}
}
