package redis

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"weir/limiter/quota"
	"weir/limiter/store"
)

// question is what a script is asked: a call, a change, or to take a call back.
type question interface {
	// rows appends the quota rows it is about.
	rows(to []*store.QuotaRow) []*store.QuotaRow
	// encode writes the script and its arguments.
	encode(r *request)
	// decode reads the script's reply after status and clock, and returns the
	// numbers that follow.
	decode(r *request, reply []int64) (rest []int64, err error)
	// answer sets the status and the store's clock, 0 if it is not known.
	answer(status store.Status, nowUs int64)
	// fail says that the store did not decide.
	fail(err error)
}

// request is one question on its way to the script. Its arguments point into
// that and into numbers and names, which must not move once pointed at. Requests
// are pooled: their arguments cost no allocation.
type request struct {
	question

	cmd     *redis.IntSliceCmd
	args    []any
	numbers []int64
	names   []string
	on      []*store.QuotaRow
	reigns  []*reign // that each row rests on
	id      requestID
	slot    int64 // of time, in which a call is noted
	asks    int   // how often it was sent
	whole   bool  // send the script's text: the server did not know its name
}

var requests = sync.Pool{New: func() any { return new(request) }}

func newRequest(q question) *request {
	r := requests.Get().(*request) //nolint:forcetypeassert // the pool holds nothing else
	r.question, r.on = q, q.rows(r.on)
	return r
}

// release gives a request back; nothing in it may be used any more.
func (r *request) release() {
	clear(r.args)
	clear(r.names)
	clear(r.on)
	clear(r.reigns)
	*r = request{args: r.args[:0], numbers: r.numbers[:0], names: r.names[:0], on: r.on[:0], reigns: r.reigns[:0]}
	requests.Put(r)
}

// requestID is a call's ID as an argument. It knows whether it was ever written
// to a connection: only then may the call have been applied.
type requestID struct {
	raw     quota.RequestID
	written bool
}

// MarshalBinary implements encoding.BinaryMarshaler. No ID is written as empty.
func (id *requestID) MarshalBinary() ([]byte, error) {
	id.written = true
	if id.raw == (quota.RequestID{}) {
		return nil, nil
	}
	return id.raw[:], nil
}

// restOn notes the reigns in force for the rows. It says whether they are the
// ones that the caller names. One who names none may rest on any, unless what it
// knew is stale.
func (r *request) restOn(in *reigns, stale bool) bool {
	r.reigns = r.reigns[:0]
	for _, q := range r.on {
		now := in.at(q.Tag)
		if q.Reign != now.nonce && (q.Reign != 0 || stale) {
			return false
		}
		r.reigns = append(r.reigns, now)
	}
	return true
}

// namesReign says whether the caller names a reign.
func (r *request) namesReign() bool {
	return slices.ContainsFunc(r.on, func(q *store.QuotaRow) bool { return q.Reign != 0 })
}

// command makes the command to send.
func (r *request) command(ctx context.Context) *redis.IntSliceCmd {
	clear(r.args)
	r.args, r.numbers, r.names, r.id.written = r.args[:0], r.numbers[:0], r.names[:0], false
	r.encode(r)
	r.asks++
	r.cmd = redis.NewIntSliceCmd(ctx, r.args...)
	return r.cmd
}

// reserve makes the lists long enough that appending never moves them: for all
// rows, and so many numbers and names beside them.
func (r *request) reserve(numbers, names int) {
	for _, q := range r.on {
		numbers += rowNumbers
		names += rowNames + 2*len(q.Earlier)
	}
	if cap(r.numbers) < numbers {
		r.numbers = make([]int64, 0, 2*numbers)
	}
	if cap(r.names) < names {
		r.names = make([]string, 0, 2*names)
	}
}

// script begins the command: the script, by name if the server knows it, and
// how many keys there are.
func (r *request) script(s *script, keys int) {
	if r.whole {
		r.args = append(r.args, "EVAL", &s.text)
	} else {
		r.args = append(r.args, "EVALSHA", &s.sha)
	}
	r.number(int64(keys))
}

func (r *request) number(n int64) {
	r.numbers = append(r.numbers, n)
	r.args = append(r.args, &r.numbers[len(r.numbers)-1])
}

func (r *request) flag(on bool) {
	n := int64(0)
	if on {
		n = 1
	}
	r.number(n)
}

func (r *request) name(s string) {
	r.names = append(r.names, s)
	r.args = append(r.args, &r.names[len(r.names)-1])
}

// rowKeys writes the keys of all rows, each with its marker.
func (r *request) rowKeys() {
	for _, q := range r.on {
		r.name(rowKey(q.Tag, &q.ID))
		r.args = append(r.args, &markerKeys[q.Tag])
	}
}

// rowNumbers and rowNames are how many of each a row's key and arguments have,
// earlier entries apart.
const rowNumbers, rowNames = 6, 2

// row writes a row's arguments; see quota.lua.
func (r *request) row(i int) {
	q, reign := r.on[i], r.reigns[i]
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

// read reads the script's reply into the question's answers.
func (r *request) read(reply []int64) (store.Status, error) {
	if len(reply) < 2 {
		return store.Failed, errShort
	}
	switch reply[0] {
	case replyWrongSplit:
		return store.Failed, errWrongSplit
	case replyCancelled:
		return store.Failed, errCancelled
	}
	if reply[0] < int64(store.Allowed) || reply[0] > int64(store.WrongReign) {
		return store.Failed, fmt.Errorf("reply has status %d: want 1 to %d", reply[0], replyCancelled)
	}
	status := store.Status(reply[0])
	r.answer(status, reply[1])
	if status == store.WrongPeriod || status == store.WrongReign {
		return status, nil
	}
	rest, err := r.decode(r, reply[2:])
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("reply has %d numbers too many", len(rest))
	}
	return status, err
}
