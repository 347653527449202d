package redis

import (
	"context"

	"weir/limiter/quota"
	"weir/limiter/store"
)

// Apply implements store.Store.
func (s *Store) Apply(ctx context.Context, changes []*store.Change) {
	var few [16]*request
	asking := few[:0]
	for _, c := range changes {
		if err := c.Check(); err != nil {
			c.Fail(err)
			continue
		}
		c.Err, c.Moved = nil, 0
		asking = append(asking, newChange(c))
	}
	s.askAll(ctx, asking)
}

// newChange asks for a change.
func newChange(c *store.Change) *request {
	r := requests.Get().(*request) //nolint:forcetypeassert // the pool holds nothing else
	r.change, r.rows = c, append(r.rows, &c.QuotaRow)
	return r
}

// encodeChange writes the arguments; see change.lua.
func (r *request) encodeChange(c *store.Change) {
	r.script(changeScript)
	r.number(4)
	r.name(rowKey(c.Tag, &c.ID))
	r.args = append(r.args, &markerKeys[c.Tag])
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

func (r *request) decodeChange(c *store.Change, reply []int64) (rest []int64, err error) {
	if len(reply) == 0 {
		return nil, errShort
	}
	c.Moved = reply[0]
	return decodeRow(&c.QuotaRow, r.reigns[0].nonce, reply[1:])
}
