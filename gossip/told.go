package gossip

import (
	"time"

	"weir/crdt"
)

// told is what one peer was told lately: it may not have come, and of its region
// nobody else was told. It shares the lists with the batches.
type told struct {
	batches []toldBatch
	rows    int
	// More was told than is remembered.
	passed bool
}

type toldBatch struct {
	ids []crdt.RowID
	at  time.Duration
	// Which of the frames handed out for the peer it was.
	frame uint64
}

func (t *told) add(b toldBatch) {
	t.batches = append(t.batches, b)
	t.rows += len(b.ids)
	for t.rows > maxToldRows && len(t.batches) > 1 {
		t.forget()
		t.passed = true
	}
}

func (t *told) forget() {
	t.rows -= len(t.batches[0].ids)
	t.batches[0].ids = nil
	t.batches = t.batches[1:]
}

// expire forgets what was told before an instant, if it is known to have left
// this node: all up to that frame have.
func (t *told) expire(before time.Duration, frame uint64) {
	for len(t.batches) > 0 && t.batches[0].at < before && t.batches[0].frame <= frame {
		t.forget()
	}
	if len(t.batches) == 0 {
		t.passed = false
	}
}

// tellAgain has another node of a peer's region told what the peer may have
// missed. A node that is alone in its region begins a session once it is
// reached.
func (c *Core) tellAgain(missed *peer) {
	t := missed.told
	missed.told = told{}
	if len(t.batches) == 0 || c.peersIn(missed.Region) == 1 {
		return
	}
	n := c.again[missed.Region]
	if n == nil {
		n = &news{changes: newChanges()}
		c.again[missed.Region] = n
	}
	for _, b := range t.batches {
		for _, id := range b.ids {
			n.add(id, wholeRow)
		}
	}
	if t.passed || n.len() > maxToldRows {
		c.restart(missed.Region)
	}
}

func (c *Core) peersIn(region string) (n int) {
	for _, p := range c.peers {
		if p.Region == region {
			n++
		}
	}
	return n
}
