package gossip

import (
	"time"

	"google.golang.org/protobuf/proto"

	"weir/crdt"
)

// splits is what the core knows of how rights are shared out. It changes rarely:
// every frame carries its digest, and who sees that a peer has another tells it
// all.
type splits struct {
	known   crdt.Splits
	digest  uint64
	changes uint64
	encoded []byte // as frames carry it
}

// peerSplits is how a peer stands with splits.
type peerSplits struct {
	// The digest it last showed, if it was heard, and that of what it last told,
	// which is known here.
	heard       bool
	shown, from uint64
	// The digest of what it was last told, if it was, and when.
	told   uint64
	toldAt time.Duration
}

// Splits is what is known of how rights are shared out. It is the caller's.
func (c *Core) Splits() crdt.Splits { return c.splits.known.Clone() }

// SplitsChanges counts the changes of Splits so far.
func (c *Core) SplitsChanges() uint64 { return c.splits.changes }

// MergeSplits takes in what somebody knows of splits, tells the others, and says
// whether anything was new.
func (c *Core) MergeSplits(s *crdt.Splits) (changed bool) {
	return c.noteSplits(c.splits.known.Merge(s))
}

// Acknowledge takes in that a region acknowledged a version of the split, tells
// the others, and says whether that was new: the version is known, and the region
// had not acknowledged it.
func (c *Core) Acknowledge(version uint64, ack crdt.Ack) (changed bool) {
	return c.noteSplits(c.splits.known.Acknowledge(version, ack))
}

func (c *Core) noteSplits(changed bool) bool {
	if changed {
		s := &c.splits
		s.changes++
		s.digest = s.known.Digest()
		s.encoded = nil
		c.urgent = true
	}
	return changed
}

// hearSplits takes in what a frame says of splits. Without a word about the
// rest it may come from a node that is no peer here.
func (c *Core) hearSplits(now time.Duration, p *peer, in *Inbound) {
	if in.splits != nil {
		c.MergeSplits(in.splits)
	}
	if p == nil {
		return
	}
	s := &p.splits
	s.heard, s.shown = true, in.splitsDigest
	if in.splits != nil {
		s.from = in.splitsDigest
	}
	c.urgent = c.urgent || c.owesSplits(now, p)
}

// owesSplits says whether a peer is to be told of splits now: it showed that it
// knows others, and was not told of these just before.
func (c *Core) owesSplits(now time.Duration, p *peer) bool {
	s := &p.splits
	if !s.heard || c.splits.digest == 0 || s.shown == c.splits.digest {
		return false
	}
	return s.told != c.splits.digest || now-s.toldAt >= splitsPatience
}

// nextSplits tells the next peer that is to be told of splits, in a frame that
// carries nothing else.
func (c *Core) nextSplits(now time.Duration) (m Message, more bool) {
	p := c.nextPeer(func(p *peer) bool { return c.owesSplits(now, p) })
	if p == nil {
		return Message{}, false
	}
	s := &c.splits
	if s.encoded == nil {
		s.encoded = appendMessage(nil, frameSplits, c.encodeSplits())
	}
	p.splits.told, p.splits.toldAt = s.digest, now
	c.counters.SplitsSent++
	return c.send(now, p, c.frame(now, p), s.encoded, 0), true
}

// encodeSplits encodes what is known: numbers and names always marshal.
func (c *Core) encodeSplits() []byte {
	body, err := proto.Marshal(EncodeSplits(&c.splits.known))
	if err != nil {
		panic(err)
	}
	return body
}

// lacksSplits says whether some peer has shown that it knows splits which it has
// not told yet.
func (c *Core) lacksSplits() bool {
	for _, p := range c.peers {
		if s := &p.splits; s.shown != 0 && s.shown != c.splits.digest && s.shown != s.from {
			return true
		}
	}
	return false
}
