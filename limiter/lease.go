package limiter

import (
	"encoding/binary"
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"weir/limiter/quota"
	"weir/limiter/store"
)

// LeaseOptions are what Leases are made from.
type LeaseOptions struct {
	// Node names this node in its region; no two that live have one name.
	Node   string
	Store  store.Store
	Ledger Ledger
	// Now is the engine's clock; nil is the system's. Only the ends of periods
	// are read off the wall, all else off differences.
	Now func() time.Time
	// Rows is how many rows are leased at most; 0 is 10 000.
	Rows int
	// HotChecks is how many checks a second make a row worth a lease; 0 is 50.
	HotChecks int
}

// Leases are the units of quotas that this node took from its region's store
// ahead of use: at most one lease a row. Checks are decided from them without
// the store, and without it when it is away. Units of a lease count as taken
// from the moment the store gave them, so nothing that is allowed from leases
// goes past a bound; what is not spent is returned.
//
// Leases are taken, exchanged and returned by Run, never by a check. Without it
// there are none. The methods may be called from any goroutine.
type Leases struct {
	node   string
	store  store.Store
	ledger Ledger
	now    func() time.Time
	began  time.Time
	most   int
	hot    int32

	seed   maphash.Seed
	shards [leaseShards]leaseShard
	asks   chan leaseAsk

	// away says that the store did not answer when it was last asked.
	away    atomic.Bool
	stop    sync.Once
	stopped chan struct{}

	// work is held by whoever turns leases over: Run or Stop.
	work   sync.Mutex
	pause  time.Duration // nothing is asked of the store before
	lease  uint64        // names leases, with process
	naming uint64

	rows                                  atomic.Int64
	taken, returned, forgotten            atomic.Uint64 // units
	evicted, dropped, failed, disbelieved atomic.Uint64
}

const (
	// leaseIdle is how long a lease nobody uses is held, and how long a row that
	// could not be leased waits.
	leaseIdle = time.Second
	// leaseTick is how often all leases are looked at.
	leaseTick = 100 * time.Millisecond
	// leasePause is how long a store that failed is left alone.
	leasePause = time.Second
	// leaseAsks bounds the rows waiting to be leased; those past it ask again.
	leaseAsks = 1024
	// leaseBatch bounds the rows turned over in one round trip.
	leaseBatch = 128
)

// NewLeases returns leases, none yet. Run takes them.
func NewLeases(o LeaseOptions) *Leases {
	l := &Leases{node: o.Node, store: o.Store, ledger: o.Ledger, now: o.Now, most: o.Rows, hot: int32(o.HotChecks),
		seed: maphash.MakeSeed(), asks: make(chan leaseAsk, leaseAsks), stopped: make(chan struct{}), naming: rand.Uint64()}
	if l.now == nil {
		l.now = time.Now
	}
	if l.most == 0 {
		l.most = 10_000
	}
	if l.hot == 0 {
		l.hot = 50
	}
	l.began = l.now()
	for i := range l.shards {
		l.shards[i].rows = make(map[uint64]*leaseRow)
	}
	return l
}

// at is an instant as the leases count time.
func (l *Leases) at(now time.Time) time.Duration { return now.Sub(l.began) }

// name names a lease. Every attempt to take one has a name of its own.
func (l *Leases) name() (id quota.RequestID) {
	l.lease++
	binary.BigEndian.PutUint64(id[:8], l.naming)
	binary.BigEndian.PutUint64(id[8:], l.lease)
	return id
}

// missed tells that the store did not answer a check. Leases are then kept:
// they are all this node has.
func (l *Leases) missed() { l.away.Store(true) }

// answered tells that it did.
func (l *Leases) answered() {
	if l.away.Load() {
		l.away.Store(false)
	}
}

// leaseAsk asks that a row's lease be looked at: it has none and is hot, or it
// is spent, or the region runs short.
type leaseAsk struct {
	hash uint64
	row  store.QuotaRow
	cost int64 // of the check that asks
	want int64 // units: about a second of the row's demand
}

// ask queues an ask and says whether there was room.
func (l *Leases) ask(a *leaseAsk) bool {
	select {
	case l.asks <- *a:
		return true
	default:
		l.dropped.Add(1)
		return false
	}
}
