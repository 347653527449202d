// Package store says what a region's store must do: decide calls atomically.
//
// Two stores do it, the one in Redis (package redis) for a region of any
// number of nodes and the embedded one (package embedded) for a region of one
// node. One table of tests runs against both.
package store

import (
	"context"
	"errors"
	"time"

	"weir/limiter/bucket"
	"weir/limiter/quota"
)

// Tags is how many hash tags the keys of a region fall into. It is part of the
// layout in Redis and never changes.
const Tags = 1024

// ID is the digest that names a bucket or a quota row: the first 16 bytes of a
// SHA-256, so that nobody can choose a key that lands on another's.
type ID [16]byte

// Reign names an unbroken life of a store's data; 0 is none.
type Reign uint64

// Call is one atomic question: all its takes find room, or nothing is charged.
// A take of cost 0 is a look: it always has room and changes nothing. The
// caller fills the questions, the store the answers. A Call belongs to the
// caller before and after Decide, and to the store meanwhile.
type Call struct {
	Buckets []BucketTake
	Quotas  []QuotaTake
	// Request names a call that charges quotas, uniquely: so its charge can be
	// taken back, and its receipt refunded once.
	Request quota.RequestID

	// Answers.

	// Status says whether the rest of the answers stand.
	Status Status
	// NowUs is the store's clock, in microseconds since 1970.
	NowUs int64
	// Err is why a call of a batch failed when Status is Failed.
	Err error
}

// Status is the outcome of a call.
type Status uint8

const (
	// Failed: the store did not decide; Call.Err says why. The charge of a
	// call whose reply was lost may stand.
	Failed Status = iota
	// Allowed: every take found room and was charged.
	Allowed
	// Denied: some take found none; nothing was charged.
	Denied
	// WrongPeriod: the store's clock lies outside a quota's period; NowUs says
	// where it is. Nothing was charged; ask again with the right period.
	WrongPeriod
	// WrongReign: a quota's QuotaTake.Reign is not the store's any more. Nothing
	// was charged; make Earlier anew for Store.Reign and ask again.
	WrongReign
)

// BucketTake asks a token bucket for units. The same ID appears once in a call.
type BucketTake struct {
	ID ID
	// Tag is the hash tag of the key's subject, below Tags.
	Tag  uint16
	Rate bucket.Rate
	Cost int64

	// State is the bucket as it stands after the call.
	State bucket.State
	// Fits says whether this take alone had room.
	Fits bool
	// Full says that the store holds as many keys as it may and this one is
	// new: it was neither counted nor refused.
	Full bool
}

// QuotaRow is one quota's row and what the caller knows of it beyond the store.
// What it does not know yet can only make the bounds too low.
type QuotaRow struct {
	Row RowName
	ID  ID
	Tag uint16

	// Limit is the quota in units.
	Limit int64
	// Total is the rights of all regions together, ⌊Q + ε⌋, or quota.Unbounded:
	// what the caller makes Allotted of. Stores leave it alone.
	Total int64
	// Elsewhere is the net sum of what this node knows other regions took.
	Elsewhere int64
	// Allotted is what the region was ever allotted of the quota's rights: its
	// share and what this node knows it received; quota.Unbounded asks for none.
	Allotted int64
	// Reign is the reign Earlier was made for, as Store.Reign gave it. 0 says
	// that Earlier holds every entry of this region that the caller knows; it
	// then stands in whatever reign the store is, unless the region's nodes have
	// exchanged what they know meanwhile: then the status is WrongReign. After the
	// call it is the reign that decided.
	Reign Reign
	// Earlier are entries of this region's earlier replicas (other reigns)
	// that the store has not confirmed; usually none. The store keeps them,
	// whether the call is allowed or denied; an entry of its own reign is
	// ignored.
	Earlier []Entry
	// Epoch is the caller's own mark; stores leave it alone.
	Epoch uint64

	// Answers.

	// Entry is the current reign's entry after the call.
	Entry Entry
	// RegionNet is Σ(taken − returned) over all the region's replicas that the
	// store knows, after the call; RegionRights is how many units the region may
	// still let through by itself (quota.MaxUnits when Allotted is Unbounded).
	RegionNet, RegionRights int64
	// Full says that the store holds as many rows as it may and this one is
	// new: it has no room.
	Full bool
}

// Bounds are the row's bounds, as its script and its Go are asked.
func (r *QuotaRow) Bounds() quota.Bounds {
	return quota.Bounds{Ceiling: quota.Ceiling(r.Limit, r.Elsewhere), Allotted: r.Allotted}
}

// QuotaTake asks a global quota's row for units. The same Row appears once in
// a call.
type QuotaTake struct {
	QuotaRow
	Cost int64
	// Mark asks that a refusal for want of rights be noted in the entry even
	// where a larger one is, so that other regions hear that the want goes on.
	Mark bool

	// Outcome says whether this take alone had room, and if not, why.
	Outcome quota.Outcome
}

// Change is one change to a quota row that is no take. It is applied whole or
// not at all.
type Change struct {
	QuotaRow
	Kind ChangeKind
	// Units: for Give, what the region To is to have been given in all; for
	// Refund, Grant and ReturnLease, how many; for TakeLease, the most wanted.
	Units int64
	// To is the region that gets a gift; Keep, the rights that must remain.
	To   string
	Keep int64
	// Request is the receipt's id for Refund (none: it is not deduplicated), and
	// the lease's for TakeLease and ReturnLease.
	Request quota.RequestID
	// Node is the name of the node that holds the lease.
	Node string

	// Answers.

	// Status is Allowed when the change was looked at (Moved may be 0), or
	// Failed, WrongPeriod, WrongReign: then nothing changed.
	Status Status
	// Moved is how many units were given, refunded, granted, leased, returned.
	Moved int64
	NowUs int64
	Err   error
}

// ChangeKind is what a Change does; see the methods of quota.Row.
type ChangeKind uint8

// The kinds of changes. Open writes the entry of a row that nothing was taken
// of, so that it is known.
const (
	Give ChangeKind = iota + 1
	Refund
	Grant
	TakeLease
	ReturnLease
	Open
)

// RowName names the replicated state of one quota key in one period.
type RowName struct {
	Rule string
	Key  string
	// The period: [Start, End) in Unix seconds.
	Start, End int64
	// Generation is 0 until an operator resets the key.
	Generation uint32
}

// Entry is what one replica of this region counted. Its numbers only grow.
type Entry struct {
	Reign Reign
	quota.Count
}

// Row is a quota row as the store holds it: this region's entries.
type Row struct {
	Name    RowName
	Entries []Entry
}

// RowGrace is how long a row outlives its period, so that clocks may differ.
const RowGrace = 60 * time.Second

// ErrUnavailable is wrapped by every error that says the store could not be
// reached in time.
var ErrUnavailable = errors.New("store unavailable")

// Store decides calls. Its methods may be called from any goroutine.
type Store interface {
	// Decide fills the answers of every call, in one round trip. A call that
	// fails has Status Failed; Decide itself never retries what may have been
	// applied. It returns within the store's budget (50 ms in Redis).
	Decide(ctx context.Context, calls []*Call)

	// Apply makes changes to quota rows, each by itself, in one round trip. It
	// never repeats what may have been applied, and returns within the store's
	// budget. A lease or refund whose answer was lost may be asked again under
	// its Request: it is applied once.
	Apply(ctx context.Context, changes []*Change)

	// Cancel takes back, as soon as the store can, what a call charged its
	// quotas, within the reign it was asked in: the caller does not believe the
	// answer. Calls that failed in Decide need no Cancel, the store takes back
	// by itself what may have been charged. Bucket charges stand. It does not
	// block and keeps no reference to the call.
	Cancel(c *Call)

	// Reign is the reign of the data under a hash tag, as the store last knew
	// it; 0 while it knows of none. It does not block.
	Reign(tag uint16) Reign

	// Rows calls yield with every quota row the store holds, a page at a time;
	// an error from yield ends it and is returned.
	Rows(ctx context.Context, yield func([]Row) error) error

	// Ready returns nil once the store can decide: it is reached, holds a
	// reign and refuses nothing. It says what is wrong otherwise.
	Ready(ctx context.Context) error

	Close() error
}
