package redis

import (
	"errors"
	"time"

	"weir/limiter/quota"
	"weir/limiter/store"
)

// call is a store.Call as a question; see decide.lua.
type call store.Call

func (c *call) rows(to []*store.QuotaRow) []*store.QuotaRow {
	for i := range c.Quotas {
		to = append(to, &c.Quotas[i].QuotaRow)
	}
	return to
}

func (c *call) answer(status store.Status, nowUs int64) { c.Status, c.NowUs = status, nowUs }
func (c *call) fail(err error)                          { c.Status, c.Err = store.Failed, err }

// charged returns the first quota that the call would charge, or nil: under its
// tag the call is noted.
func (c *call) charged() *store.QuotaTake {
	for i := range c.Quotas {
		if c.Quotas[i].Cost > 0 {
			return &c.Quotas[i]
		}
	}
	return nil
}

// canCancel says whether what the call charges its quotas can be taken back.
func (c *call) canCancel() bool { return c.Request != quota.RequestID{} && c.charged() != nil }

// slotLength is the stretch of the caller's clock whose calls are noted
// together.
const slotLength = 10 * time.Second

func slotNow() int64 { return time.Now().Unix() / int64(slotLength/time.Second) }

func (c *call) encode(r *request) {
	r.reserve(3+3*len(c.Buckets)+2*len(c.Quotas), 1)
	keys, noted := len(c.Buckets)+2*len(c.Quotas), c.canCancel()
	if noted {
		keys++
		r.id.raw = c.Request
	}
	r.script(decideScript, keys)
	for i := range c.Buckets {
		r.args = append(r.args, groupKey(c.Buckets[i].Tag, &c.Buckets[i].ID))
	}
	r.rowKeys()
	if noted {
		r.slot = slotNow()
		r.name(callsKey(c.charged().Tag, r.slot))
	}
	r.number(int64(len(c.Buckets)))
	r.number(int64(len(c.Quotas)))
	r.args = append(r.args, &r.id)
	for i := range c.Buckets {
		r.bucket(&c.Buckets[i])
	}
	for i := range c.Quotas {
		r.number(min(c.Quotas[i].Cost, quota.MaxUnits))
		r.flag(c.Quotas[i].Mark)
		r.row(i)
	}
}

// rawID writes an ID's bytes as an argument.
type rawID store.ID

// MarshalBinary implements encoding.BinaryMarshaler.
func (id *rawID) MarshalBinary() ([]byte, error) { return id[:], nil }

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

func (c *call) decode(r *request, reply []int64) (_ []int64, err error) {
	if len(reply) < 3*len(c.Buckets) {
		return nil, errShort
	}
	for i := range c.Buckets {
		t := &c.Buckets[i]
		t.Fits, t.Full = reply[0] == 1, false
		t.State.FullAtUs, t.State.Spare = reply[1], reply[2]
		reply = reply[3:]
	}
	for i := range c.Quotas {
		t := &c.Quotas[i]
		if len(reply) == 0 || reply[0] < int64(quota.Fits) || reply[0] > int64(quota.NoRights) {
			return nil, errors.New("reply has no outcome of a quota")
		}
		t.Outcome = quota.Outcome(reply[0])
		if reply, err = decodeRow(&t.QuotaRow, r.reigns[i].nonce, reply[1:]); err != nil {
			return nil, err
		}
	}
	return reply, nil
}
