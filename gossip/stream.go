package gossip

import (
	"math/bits"
	"slices"
	"time"
)

// outStream numbers the frames to one peer. The high half of its number is the
// process, the low half grows: of two streams of one process a receiver knows
// which is newer.
type outStream struct {
	number   uint64
	sequence uint64
}

func (o *outStream) next() uint64 {
	o.sequence++
	return o.sequence
}

// inStream notices what is missing of the frames from one peer.
type inStream struct {
	number uint64
	// All up to here have come; of those after it, bit i says that
	// upTo + 1 + i has.
	upTo  uint64
	ahead uint64
	// When the gap before ahead was first seen.
	gapSince time.Duration
	// Earlier processes of the peer: what still comes of theirs is old.
	past   [4]uint32
	pastAt int
}

// receive notes a frame and says whether frames before it are lost for sure.
func (s *inStream) receive(now time.Duration, number, sequence uint64) (lost bool) {
	switch {
	case s.number == 0:
		s.begin(number)
	case s.ended(number):
		return false
	case number != s.number:
		// The sender began anew, so it knows that something was lost, or it is
		// a new process.
		s.begin(number)
		lost = true
	}
	return s.note(now, sequence) || lost
}

func (s *inStream) note(now time.Duration, sequence uint64) (lost bool) {
	if sequence <= s.upTo {
		return false
	}
	distance := sequence - s.upTo - 1
	if distance >= 64 {
		s.upTo, s.ahead = sequence, 0
		return true
	}
	hadGap := s.ahead != 0
	s.ahead |= 1 << distance
	come := bits.TrailingZeros64(^s.ahead)
	s.upTo += uint64(come)
	s.ahead >>= come
	if s.ahead != 0 && (!hadGap || come > 0) {
		s.gapSince = now
	}
	return false
}

// giveUp says whether a gap has been open for too long, and closes it.
func (s *inStream) giveUp(now time.Duration) bool {
	if s.ahead == 0 || now-s.gapSince < gapPatience {
		return false
	}
	s.upTo += uint64(bits.Len64(s.ahead))
	s.ahead = 0
	return true
}

// begin turns to a new stream.
func (s *inStream) begin(number uint64) {
	if s.number != 0 && s.number>>32 != number>>32 {
		s.past[s.pastAt] = uint32(s.number >> 32)
		s.pastAt = (s.pastAt + 1) % len(s.past)
	}
	s.number, s.upTo, s.ahead = number, 0, 0
}

// ended says whether a stream is an earlier one of the peer: a frame of it was
// overtaken, or replayed.
func (s *inStream) ended(number uint64) bool {
	if number>>32 == s.number>>32 {
		return uint32(number) < uint32(s.number)
	}
	process := uint32(number >> 32)
	return process != 0 && slices.Contains(s.past[:], process)
}
