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
	errLate       = errors.New("the reply came after the call's deadline")
	errShort      = errors.New("reply ends too early")
)

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
