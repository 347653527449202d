package redis

import (
	"errors"
	"fmt"

	"weir/limiter/quota"
	"weir/limiter/store"
)

// What scripts reply first, beside the statuses of a call.
const (
	replyWrongSplit = int64(store.WrongReign) + 1
	replyCancelled  = replyWrongSplit + 1
)

var (
	// errCancelled: the call came so late that it had been given up.
	errCancelled  = errors.New("the call was given up before it came")
	errWrongSplit = errors.New("the data is of another version of the split")
	errShort      = errors.New("reply ends too early")
)

// decode reads the script's reply into what was asked.
func (r *request) decode(reply []int64) error {
	status, rest, err := decodeHead(reply)
	if err != nil {
		return err
	}
	r.answer(status)
	if r.call == nil {
		r.change.NowUs = reply[1]
	} else {
		r.call.NowUs = reply[1]
	}
	switch {
	case status == store.WrongPeriod || status == store.WrongReign:
		return nil
	case r.call == nil:
		rest, err = r.decodeChange(r.change, rest)
	default:
		rest, err = r.decodeCall(r.call, rest)
	}
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("reply has %d numbers too many", len(rest))
	}
	return err
}

func (r *request) decodeCall(c *store.Call, rest []int64) (_ []int64, err error) {
	if len(rest) < 3*len(c.Buckets) {
		return nil, errShort
	}
	for i := range c.Buckets {
		t := &c.Buckets[i]
		t.Fits, t.Full = rest[0] == 1, false
		t.State.FullAtUs, t.State.Spare = rest[1], rest[2]
		rest = rest[3:]
	}
	for i := range c.Quotas {
		t := &c.Quotas[i]
		if len(rest) == 0 || rest[0] < int64(quota.Fits) || rest[0] > int64(quota.NoRights) {
			return nil, errors.New("reply has no outcome of a quota")
		}
		t.Outcome = quota.Outcome(rest[0])
		if rest, err = decodeRow(&t.QuotaRow, r.reigns[i].nonce, rest[1:]); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// decodeHead reads a reply's status; the store's clock comes next.
func decodeHead(reply []int64) (store.Status, []int64, error) {
	if len(reply) < 2 {
		return store.Failed, nil, errShort
	}
	switch code := reply[0]; {
	case code == replyWrongSplit:
		return store.Failed, nil, errWrongSplit
	case code == replyCancelled:
		return store.Failed, nil, errCancelled
	case code < int64(store.Allowed) || code > int64(store.WrongReign):
		return store.Failed, nil, fmt.Errorf("reply has status %d: want 1 to %d", code, replyCancelled)
	default:
		return store.Status(code), reply[2:], nil
	}
}

// rowReply is how many numbers say how a row stands, without gifts.
const rowReply = 8

// decodeRow reads how a row stands, as row_reply wrote it, and returns the
// numbers that follow.
func decodeRow(q *store.QuotaRow, in store.Reign, reply []int64) (rest []int64, err error) {
	if len(reply) < rowReply {
		return nil, errShort
	}
	q.Reign, q.Full = in, false
	q.Entry = store.Entry{Reign: in, Count: quota.Count{
		Version: uint64(reply[0]), Taken: reply[1], Returned: reply[2], Granted: reply[4], Unmet: reply[5]}}
	q.RegionNet, q.RegionRights = reply[6], reply[7]
	given, rest := reply[3], reply[rowReply:]
	if given == 0 {
		return rest, nil
	}
	text, rest, err := decodeText(rest)
	if err != nil {
		return nil, err
	}
	if len(text) == 0 {
		return nil, fmt.Errorf("reply has %d units given and no gifts", given)
	}
	q.Entry.Gifts, err = parseGifts(text[1:]) // a space is first
	return rest, err
}
