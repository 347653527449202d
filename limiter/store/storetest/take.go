package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"

	"weir/limiter/bucket"
	"weir/limiter/quota"
	"weir/limiter/store"
)

var made atomic.Uint64

// NewID returns an ID that no test used before, and its tag.
func NewID() (store.ID, uint16) {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], made.Add(1))
	binary.BigEndian.PutUint64(b[8:], uint64(time.Now().UnixNano()))
	sum := sha256.Sum256(b[:])
	return store.ID(sum[:16]), binary.BigEndian.Uint16(sum[16:]) % store.Tags
}

// MustRate is bucket.NewRate for rates that are right.
func MustRate(count int64, window time.Duration, burst int64) bucket.Rate {
	r, err := bucket.NewRate(count, window, burst)
	if err != nil {
		panic(err)
	}
	return r
}

// NewBucket asks a new bucket for cost tokens.
func NewBucket(rate bucket.Rate, cost int64) store.BucketTake {
	id, tag := NewID()
	return store.BucketTake{ID: id, Tag: tag, Rate: rate, Cost: cost}
}

// NewQuota asks a new quota for cost units in the hours around now. Its
// overshoot is not bounded.
func NewQuota(s Subject, limit, cost int64) store.QuotaTake {
	id, tag := NewID()
	now := s.Now() / 1e6
	return store.QuotaTake{Cost: cost, QuotaRow: store.QuotaRow{ID: id, Tag: tag, Limit: limit, Allotted: quota.Unbounded,
		Row: store.RowName{Rule: "daily", Key: string(id[:]), Start: now - 3600, End: now + 3600}}}
}

// NewEntry is an entry of a reign that counted so much.
func NewEntry(reign store.Reign, version uint64, taken, returned int64) store.Entry {
	return store.Entry{Reign: reign, Count: quota.Count{Version: version, Taken: taken, Returned: returned}}
}

// NewRequest returns an ID of a call that no test used before.
func NewRequest() quota.RequestID {
	id, _ := NewID()
	return quota.RequestID(id)
}

// Decide asks one call and fails the test unless the store decided it so.
func Decide(tb testing.TB, s store.Store, c *store.Call, want store.Status) {
	tb.Helper()
	s.Decide(context.Background(), []*store.Call{c})
	if c.Status != want {
		tb.Fatalf("status %d, want %d (err: %v)", c.Status, want, c.Err)
	}
}

// Apply makes one change and fails the test unless the store did so.
func Apply(tb testing.TB, s store.Store, c *store.Change, want store.Status) {
	tb.Helper()
	s.Apply(context.Background(), []*store.Change{c})
	if c.Status != want {
		tb.Fatalf("status %d, want %d (err: %v)", c.Status, want, c.Err)
	}
}
