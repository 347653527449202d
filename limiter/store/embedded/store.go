package embedded

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"sync/atomic"
	"time"

	"weir/limiter/store"
)

// Options are what a store is made from.
type Options struct {
	// Keys is how many buckets it holds at most; 0 is 1 000 000.
	Keys int
	// QuotaRows is how many quota rows it holds at most; 0 is 10 000 000.
	QuotaRows int
	// Now is the store's clock, in microseconds since 1970, above 0; nil is the
	// system's. It is read under a lock and must not call the store.
	Now func() int64
	// Settled, if not nil, is told how a row stands after a call on it was
	// taken back. It must not call the store.
	Settled func(*store.QuotaRow)
}

// Store is a store in process. Its methods may be called from any goroutine.
type Store struct {
	now              func() int64
	reign            store.Reign
	seeds            [2]uint64
	maxKeys, maxRows int64
	settled          func(*store.QuotaRow)

	keys, rows atomic.Int64  // what all shards hold
	visited    atomic.Uint64 // the shard last looked into when full
	shards     [shards]shard
}

var _ store.Store = (*Store)(nil)

// New returns an empty store in a reign of its own.
func New(o Options) *Store {
	s := &Store{now: o.Now, settled: o.Settled, maxKeys: int64(o.Keys), maxRows: int64(o.QuotaRows)}
	if s.now == nil {
		s.now = func() int64 { return time.Now().UnixMicro() }
	}
	if s.maxKeys == 0 {
		s.maxKeys = 1_000_000
	}
	if s.maxRows == 0 {
		s.maxRows = 10_000_000
	}
	var random [24]byte
	for s.reign == 0 {
		_, _ = rand.Read(random[:]) // never fails, says its documentation
		s.reign = store.Reign(binary.LittleEndian.Uint64(random[:]))
	}
	s.seeds = [2]uint64{binary.LittleEndian.Uint64(random[8:]), binary.LittleEndian.Uint64(random[16:])}
	return s
}

// Reign implements store.Store: the state lives exactly as long as the Store.
func (s *Store) Reign(uint16) store.Reign { return s.reign }

// Ready implements store.Store.
func (s *Store) Ready(ctx context.Context) error { return ctx.Err() }

// Close implements store.Store. There is nothing to close.
func (s *Store) Close() error { return nil }

// Keys is how many buckets the store holds, those ended but not yet dropped
// included.
func (s *Store) Keys() int { return int(s.keys.Load()) }

// QuotaRows is the same for quota rows.
func (s *Store) QuotaRows() int { return int(s.rows.Load()) }

// page is how many rows Rows hands over at a time.
const page = 512

// Rows implements store.Store. The rows of a shard are copied under its lock
// and handed over without it: what changes meanwhile is in or not.
func (s *Store) Rows(ctx context.Context, yield func([]store.Row) error) error {
	var rows []store.Row
	for i := range s.shards {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows = s.copyRows(&s.shards[i], rows)
		for len(rows) >= page {
			if err := yield(rows[:page:page]); err != nil {
				return err
			}
			rows = rows[page:]
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return yield(rows)
}

func (s *Store) copyRows(sh *shard, to []store.Row) []store.Row {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, r := range sh.rows {
		to = append(to, store.Row{Name: r.name, Entries: r.entries(s.reign)})
	}
	return to
}
