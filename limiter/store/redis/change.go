package redis

import (
	"weir/limiter/quota"
	"weir/limiter/store"
)

// change is a store.Change as a question; see change.lua.
type change store.Change

func (c *change) rows(to []*store.QuotaRow) []*store.QuotaRow { return append(to, &c.QuotaRow) }
func (c *change) answer(status store.Status, nowUs int64)     { c.Status, c.NowUs = status, nowUs }
func (c *change) fail(err error)                              { c.Status, c.Err = store.Failed, err }

func (c *change) encode(r *request) {
	r.reserve(4, 2)
	r.script(changeScript, 4)
	r.rowKeys()
	r.name(idKey(c.Tag, 'l', &c.ID))
	r.name(idKey(c.Tag, 'f', &c.ID))
	r.number(int64(c.Kind))
	r.number(min(c.Units, quota.MaxUnits))
	r.number(min(c.Keep, quota.MaxUnits))
	r.id.raw = c.Request
	r.args = append(r.args, &r.id)
	if c.Kind == store.Give {
		r.args = append(r.args, &c.To)
	} else {
		r.args = append(r.args, &c.Node)
	}
	r.row(0)
}

func (c *change) decode(r *request, reply []int64) (rest []int64, err error) {
	if len(reply) == 0 {
		return nil, errShort
	}
	c.Moved = reply[0]
	return decodeRow(&c.QuotaRow, r.reigns[0].nonce, reply[1:])
}
