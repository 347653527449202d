package redis

import (
	"context"
	"slices"
	"sync"
	"time"

	"weir/limiter/quota"
	"weir/limiter/store"
)

const (
	// maxUnresolved is how many calls may wait to be taken back; some 5 MB.
	maxUnresolved = 10_000
	// unresolvedLife is how long one waits at most. The server knows a call for
	// longer, as long as clocks differ by less than 10 s.
	unresolvedLife = time.Minute
	// settleBatch is how many are taken back in one round trip.
	settleBatch = 64
)

// unresolved is a call that was given up: what it charged its quotas, if it did,
// is to go back.
type unresolved struct {
	request quota.RequestID
	tag     uint16 // that it is noted under
	slot    int64  // of time
	charged bool   // the store had said so
	since   time.Duration
	quotas  []store.QuotaRow
	costs   []int64

	status store.Status
	back   bool // units went back
}

func (u *unresolved) rows(to []*store.QuotaRow) []*store.QuotaRow {
	for i := range u.quotas {
		to = append(to, &u.quotas[i])
	}
	return to
}

func (u *unresolved) answer(status store.Status, _ int64) { u.status = status }
func (u *unresolved) fail(error)                          { u.status = store.Failed }

func (u *unresolved) encode(r *request) {
	r.reserve(3+len(u.quotas), 1)
	r.script(settleScript, 2*len(u.quotas)+1)
	r.rowKeys()
	r.name(callsKey(u.tag, u.slot))
	r.id.raw = u.request
	r.args = append(r.args, &r.id)
	r.flag(u.charged)
	r.number(int64(len(u.quotas)))
	for i, cost := range u.costs {
		r.number(min(cost, quota.MaxUnits))
		r.row(i)
	}
}

func (u *unresolved) decode(r *request, reply []int64) (_ []int64, err error) {
	if len(reply) == 0 {
		return nil, errShort
	}
	u.back, reply = reply[0] == 1, reply[1:]
	for i := range u.quotas {
		if reply, err = decodeRow(&u.quotas[i], r.reigns[i].nonce, reply); err != nil {
			return nil, err
		}
	}
	return reply, nil
}

// Unresolved says what became of calls that were given up, or whose answers were
// lost.
type Unresolved struct {
	// Waiting is how many the store has not been asked about.
	Waiting int
	// Returned is of how many the charge went back; Uncharged, how many had not
	// been charged and now cannot be, or had gone back before.
	Returned, Uncharged uint64
	// Ended is how many belonged to a reign that ended: their charge stands or
	// went with it.
	Ended uint64
	// Expired is how many waited too long, and Overflowed how many found no room:
	// their charge stands, if they were charged.
	Expired, Overflowed uint64
}

// settlements are the calls that wait to be taken back, oldest first.
type settlements struct {
	mu     sync.Mutex
	queue  []*unresolved
	counts Unresolved
	wake   chan struct{} // holds one when there is something new
}

// Unresolved counts the calls that were given up since the store was made.
func (s *Store) Unresolved() Unresolved {
	q := &s.settlements
	q.mu.Lock()
	defer q.mu.Unlock()
	counts := q.counts
	counts.Waiting = len(q.queue)
	return counts
}

// Cancel implements store.Store.
func (s *Store) Cancel(c *store.Call) {
	if given := (*call)(c); c.Status == store.Allowed && given.canCancel() {
		s.giveUp(given, nil, slotNow(), true)
	}
}

// lost has a request's charge taken back if it may have been applied and can be.
func (s *Store) lost(r *request) {
	if c, is := r.question.(*call); is && r.id.written && c.canCancel() {
		s.giveUp(c, r.reigns, r.slot, false)
	}
}

// giveUp queues a call to be taken back, in the reigns it was asked in, those
// that its rows name if reigns is nil. It keeps nothing of the call.
func (s *Store) giveUp(c *call, reigns []*reign, slot int64, charged bool) {
	u := &unresolved{request: c.Request, tag: c.charged().Tag, slot: slot, charged: charged, since: s.opts.Clock()}
	for i := range c.Quotas {
		t := &c.Quotas[i]
		if t.Cost == 0 {
			continue
		}
		row := t.QuotaRow
		row.Earlier = nil
		if reigns != nil {
			row.Reign = reigns[i].nonce
		}
		u.quotas, u.costs = append(u.quotas, row), append(u.costs, t.Cost)
	}
	s.settlements.add(u)
}

func (q *settlements) add(u *unresolved) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) >= maxUnresolved {
		q.counts.Overflowed++
		return
	}
	q.queue = append(q.queue, u)
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// next returns the oldest calls, a batch of them, without those that expired.
func (q *settlements) next(now time.Duration) []*unresolved {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue = slices.DeleteFunc(q.queue, func(u *unresolved) bool {
		if now-u.since < unresolvedLife {
			return false
		}
		q.counts.Expired++
		return true
	})
	return slices.Clone(q.queue[:min(len(q.queue), settleBatch)])
}

// end removes those of a batch that were settled and counts them. It says
// whether all were.
func (q *settlements) end(batch []*unresolved) (all bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	settled := 0
	q.queue = slices.DeleteFunc(q.queue, func(u *unresolved) bool {
		switch {
		case u.status == store.Failed:
			return false
		case u.status == store.WrongReign:
			q.counts.Ended++
		case u.back:
			q.counts.Returned++
		default:
			q.counts.Uncharged++
		}
		settled++
		return true
	})
	return settled == len(batch)
}

// settle takes back what was given up, until the store is closed, and then what
// can be at once.
func (s *Store) settle() {
	retry := retryFirst
	for {
		var pause <-chan time.Time
		switch waiting, all := s.settleBatch(s.life); {
		case waiting && all:
			retry = retryFirst
			continue
		case waiting:
			pause = time.After(jitter(retry))
			retry = min(2*retry, lookPeriod)
		}
		wake := s.settlements.wake
		if pause != nil {
			wake = nil // it waits for the server
		}
		select {
		case <-s.life.Done():
			s.settleLast()
			return
		case <-pause:
		case <-wake:
		}
	}
}

// settleLast settles what a server that is there answers to at once.
func (s *Store) settleLast() {
	for waiting, all := true, true; waiting && all; {
		waiting, all = s.settleBatch(context.Background())
	}
}

// settleBatch asks about the oldest calls. It says whether there were any, and
// whether all were settled.
func (s *Store) settleBatch(ctx context.Context) (waiting, all bool) {
	batch := s.settlements.next(s.opts.Clock())
	if len(batch) == 0 {
		return false, true
	}
	asking := make([]*request, len(batch))
	for i, u := range batch {
		asking[i] = newRequest(u)
	}
	s.askAll(ctx, asking)
	all = s.settlements.end(batch)
	for _, u := range batch {
		for i := range u.quotas {
			if u.status == store.Allowed && u.quotas[i].Entry.Version > 0 {
				s.opts.Settled(&u.quotas[i])
			}
		}
	}
	return true, all
}
