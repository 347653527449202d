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

// request is one call on its way to the script. Its arguments point into the
// call and into numbers and names, which must not move once pointed at.
// Requests are pooled: their arguments cost no allocation.
type request struct {
	call    *store.Call
	cmd     *redis.IntSliceCmd
	args    []any
	numbers []int64
	names   []string
	reigns  []*reign // that each quota rests on
	asks    int      // how often it was sent
	whole   bool     // send the script's text: the server did not know its name
}

var requests = sync.Pool{New: func() any { return new(request) }}

// release gives a request back; nothing in it may be used any more.
func (r *request) release() {
	clear(r.args)
	clear(r.names)
	clear(r.reigns)
	*r = request{args: r.args[:0], numbers: r.numbers[:0], names: r.names[:0], reigns: r.reigns[:0]}
	requests.Put(r)
}

// rawID writes an ID's bytes as an argument.
type rawID store.ID

// MarshalBinary implements encoding.BinaryMarshaler.
func (id *rawID) MarshalBinary() ([]byte, error) { return id[:], nil }

// restOn notes the reigns in force for a call's quotas. It says whether they
// are the ones that the call names, if it names any.
func (r *request) restOn(in *reigns) bool {
	r.reigns = r.reigns[:0]
	for i := range r.call.Quotas {
		t := &r.call.Quotas[i]
		now := in.at(t.Tag)
		if t.Reign != 0 && t.Reign != now.nonce {
			return false
		}
		r.reigns = append(r.reigns, now)
	}
	return true
}

// namesReign says whether a quota of the call names a reign.
func (r *request) namesReign() bool {
	return slices.ContainsFunc(r.call.Quotas, func(t store.QuotaTake) bool { return t.Reign != 0 })
}

// encode writes the arguments; see decide.lua for what they mean.
func (r *request) encode() {
	c := r.call
	clear(r.args)
	r.args = r.args[:0]
	r.reserve(c)
	if r.whole {
		r.args = append(r.args, "EVAL", &decideScript.text)
	} else {
		r.args = append(r.args, "EVALSHA", &decideScript.sha)
	}
	r.number(int64(len(c.Buckets) + 2*len(c.Quotas)))
	for i := range c.Buckets {
		r.args = append(r.args, groupKey(c.Buckets[i].Tag, &c.Buckets[i].ID))
	}
	for i := range c.Quotas {
		t := &c.Quotas[i]
		r.name(rowKey(t.Tag, &t.ID))
		r.args = append(r.args, &markerKeys[t.Tag])
	}
	r.number(int64(len(c.Buckets)))
	r.number(int64(len(c.Quotas)))
	for i := range c.Buckets {
		r.bucket(&c.Buckets[i])
	}
	for i := range c.Quotas {
		r.quota(&c.Quotas[i], r.reigns[i])
	}
}

// reserve makes the lists long enough that appending never moves them.
func (r *request) reserve(c *store.Call) {
	numbers, names := 3+3*len(c.Buckets), 0
	for i := range c.Quotas {
		numbers += 6
		names += 2 + len(c.Quotas[i].Earlier)
	}
	if cap(r.numbers) < numbers {
		r.numbers = make([]int64, 0, 2*numbers)
	}
	if cap(r.names) < names {
		r.names = make([]string, 0, 2*names)
	}
	r.numbers, r.names = r.numbers[:0], r.names[:0]
}

func (r *request) number(n int64) {
	r.numbers = append(r.numbers, n)
	r.args = append(r.args, &r.numbers[len(r.numbers)-1])
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

func (r *request) quota(t *store.QuotaTake, reign *reign) {
	r.args = append(r.args, &reign.hex)
	r.number(t.Row.Start * 1_000_000)
	r.number(t.Row.End * 1_000_000)
	r.number(quota.Ceiling(t.Limit, t.Elsewhere))
	r.number(min(t.Cost, quota.MaxUnits))
	r.number(t.Row.GoneUs() / 1000)
	r.name(string(appendName(make([]byte, 0, 64), &t.Row)))
	count := len(r.args)
	r.number(0)
	for i := range t.Earlier {
		e := &t.Earlier[i]
		if e.Reign == reign.nonce {
			continue
		}
		r.name(formatReign(e.Reign))
		r.args = append(r.args, &e.Version, &e.Taken, &e.Returned)
		*r.args[count].(*int64)++ //nolint:forcetypeassert // number put it there
	}
}

// command makes the command to send.
func (r *request) command(ctx context.Context) *redis.IntSliceCmd {
	r.encode()
	r.asks++
	r.cmd = redis.NewIntSliceCmd(ctx, r.args...)
	return r.cmd
}

// decode reads the script's reply into the call.
func (r *request) decode(reply []int64) error {
	c := r.call
	if len(reply) < 2 {
		return fmt.Errorf("reply of %d numbers: want 2 or more", len(reply))
	}
	c.NowUs = reply[1]
	if reply[0] < int64(store.Allowed) || reply[0] > int64(store.WrongReign) {
		return fmt.Errorf("reply has status %d: want 1 to 4", reply[0])
	}
	if c.Status = store.Status(reply[0]); c.Status == store.WrongPeriod || c.Status == store.WrongReign {
		return nil
	}
	if want := 2 + 3*len(c.Buckets) + 5*len(c.Quotas); len(reply) != want {
		return fmt.Errorf("reply of %d numbers: want %d", len(reply), want)
	}
	reply = reply[2:]
	for i := range c.Buckets {
		t := &c.Buckets[i]
		t.Fits, t.Full = reply[0] == 1, false
		t.State.FullAtUs, t.State.Spare = reply[1], reply[2]
		reply = reply[3:]
	}
	for i := range c.Quotas {
		t := &c.Quotas[i]
		t.Reign = r.reigns[i].nonce
		t.Fits, t.Full = reply[0] == 1, false
		t.Entry = store.Entry{Reign: t.Reign, Version: uint64(reply[1]), Taken: reply[2], Returned: reply[3]}
		t.RegionNet = reply[4]
		reply = reply[5:]
	}
	return nil
}
