package redis

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"weir/limiter/quota"
	"weir/limiter/store"
)

// request is one call or change on its way to the script. Its arguments point
// into that and into numbers and names, which must not move once pointed at.
// Requests are pooled: their arguments cost no allocation.
type request struct {
	call   *store.Call
	change *store.Change // if call is nil

	cmd     *redis.IntSliceCmd
	args    []any
	numbers []int64
	names   []string
	rows    []*store.QuotaRow
	reigns  []*reign // that each row rests on
	id      requestID
	slot    int64 // of time, in which the call is noted
	asks    int   // how often it was sent
	whole   bool  // send the script's text: the server did not know its name
}

var requests = sync.Pool{New: func() any { return new(request) }}

// release gives a request back; nothing in it may be used any more.
func (r *request) release() {
	clear(r.args)
	clear(r.names)
	clear(r.rows)
	clear(r.reigns)
	*r = request{args: r.args[:0], numbers: r.numbers[:0], names: r.names[:0], rows: r.rows[:0], reigns: r.reigns[:0]}
	requests.Put(r)
}

// newRequest asks for a call.
func newRequest(c *store.Call) *request {
	r := requests.Get().(*request) //nolint:forcetypeassert // the pool holds nothing else
	r.call = c
	for i := range c.Quotas {
		r.rows = append(r.rows, &c.Quotas[i].QuotaRow)
	}
	return r
}

// fail answers that the store did not decide.
func (r *request) fail(err error) {
	if r.call != nil {
		r.call.Fail(err)
		return
	}
	r.change.Fail(err)
}

func (r *request) status() store.Status {
	if r.call != nil {
		return r.call.Status
	}
	return r.change.Status
}

// answer sets the status of what was asked.
func (r *request) answer(s store.Status) {
	if r.call != nil {
		r.call.Status = s
		return
	}
	r.change.Status = s
}

// rawID writes an ID's bytes as an argument.
type rawID store.ID

// MarshalBinary implements encoding.BinaryMarshaler.
func (id *rawID) MarshalBinary() ([]byte, error) { return id[:], nil }

// requestID is a call's ID as an argument. It knows whether it was ever written
// to a connection: only then may the call have been applied.
type requestID struct {
	raw     quota.RequestID
	written bool
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (id *requestID) MarshalBinary() ([]byte, error) {
	id.written = true
	if id.raw == (quota.RequestID{}) {
		return nil, nil
	}
	return id.raw[:], nil
}

// slotLength is the stretch of the caller's clock whose calls are noted
// together.
const slotLength = 10 * time.Second

// restOn notes the reigns in force for the rows. It says whether they are the
// ones that the caller names, if it names any.
func (r *request) restOn(in *reigns) bool {
	r.reigns = r.reigns[:0]
	for _, q := range r.rows {
		now := in.at(q.Tag)
		if q.Reign != 0 && q.Reign != now.nonce {
			return false
		}
		r.reigns = append(r.reigns, now)
	}
	return true
}

// namesReign says whether the caller names a reign.
func (r *request) namesReign() bool {
	return slices.ContainsFunc(r.rows, func(q *store.QuotaRow) bool { return q.Reign != 0 })
}

// charged returns the first quota that the call would charge: under its tag the
// call is noted.
func charged(c *store.Call) *store.QuotaTake {
	for i := range c.Quotas {
		if c.Quotas[i].Cost > 0 {
			return &c.Quotas[i]
		}
	}
	return nil
}

// encode writes the arguments; see decide.lua and change.lua for what they mean.
func (r *request) encode() {
	clear(r.args)
	r.args = r.args[:0]
	r.reserve()
	if r.call == nil {
		r.encodeChange(r.change)
		return
	}
	r.encodeCall(r.call)
}

func (r *request) encodeCall(c *store.Call) {
	keys := len(c.Buckets) + 2*len(c.Quotas)
	noted := charged(c)
	if noted != nil && c.Request != (quota.RequestID{}) {
		r.id.raw = c.Request
		keys++
	}
	r.script(decideScript)
	r.number(int64(keys))
	for i := range c.Buckets {
		r.args = append(r.args, groupKey(c.Buckets[i].Tag, &c.Buckets[i].ID))
	}
	for _, q := range r.rows {
		r.name(rowKey(q.Tag, &q.ID))
		r.args = append(r.args, &markerKeys[q.Tag])
	}
	if r.id.raw != (quota.RequestID{}) {
		r.slot = time.Now().Unix() / int64(slotLength/time.Second)
		r.name(callsKey(noted.Tag, r.slot))
	}
	r.number(int64(len(c.Buckets)))
	r.number(int64(len(c.Quotas)))
	r.args = append(r.args, &r.id)
	for i := range c.Buckets {
		r.bucket(&c.Buckets[i])
	}
	for i := range c.Quotas {
		t := &c.Quotas[i]
		r.number(min(t.Cost, quota.MaxUnits))
		r.flag(t.Mark)
		r.row(i)
	}
}

// reserve makes the lists long enough that appending never moves them.
func (r *request) reserve() {
	numbers, names := 5, 3
	if r.call != nil {
		numbers += 3 * len(r.call.Buckets)
	}
	for _, q := range r.rows {
		numbers += rowNumbers + 2
		names += 2 + 2*len(q.Earlier)
	}
	if cap(r.numbers) < numbers {
		r.numbers = make([]int64, 0, 2*numbers)
	}
	if cap(r.names) < names {
		r.names = make([]string, 0, 2*names)
	}
	r.numbers, r.names = r.numbers[:0], r.names[:0]
}

func (r *request) script(s *script) {
	if r.whole {
		r.args = append(r.args, "EVAL", &s.text)
	} else {
		r.args = append(r.args, "EVALSHA", &s.sha)
	}
}

func (r *request) number(n int64) {
	r.numbers = append(r.numbers, n)
	r.args = append(r.args, &r.numbers[len(r.numbers)-1])
}

func (r *request) flag(on bool) {
	if on {
		r.number(1)
		return
	}
	r.number(0)
}

func (r *request) name(s string) {
	r.names = append(r.names, s)
	r.args = append(r.args, &r.names[len(r.names)-1])
}

func (r *request) bucket(t *store.BucketTake) {
	r.args = append(r.args, (*rawID)(&t.ID), &t.Rate.Tick, &t.Rate.Refill)
	capacity := t.Rate.Capacity()
	r.number(capacity)
	r.number(t.Rate.FillTicks())
	if t.Cost > t.Rate.Burst {
		r.number(capacity + 1) // never fits
		return
	}
	r.number(t.Cost * t.Rate.Token)
}

// rowNumbers is how many numbers the arguments of a row have.
const rowNumbers = 6

// row writes a row's arguments; see quota.lua.
func (r *request) row(i int) {
	q, reign := r.rows[i], r.reigns[i]
	b := q.Bounds()
	r.args = append(r.args, &reign.marker)
	r.number(q.Row.Start * 1_000_000)
	r.number(q.Row.End * 1_000_000)
	r.number(q.Row.GoneUs() / 1000)
	r.name(string(appendName(make([]byte, 0, 64), &q.Row)))
	r.number(b.Ceiling)
	r.number(min(b.Allotted, quota.Unbounded))
	r.number(0)
	many := &r.numbers[len(r.numbers)-1]
	for i := range q.Earlier {
		e := &q.Earlier[i]
		if e.Reign == reign.nonce {
			continue
		}
		r.name(formatReign(e.Reign))
		r.name(string(appendEntry(make([]byte, 0, 64), &e.Count)))
		*many++
	}
}

// command makes the command to send.
func (r *request) command(ctx context.Context) *redis.IntSliceCmd {
	r.encode()
	r.asks++
	r.cmd = redis.NewIntSliceCmd(ctx, r.args...)
	return r.cmd
}
