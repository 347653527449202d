package gossip

import (
	"slices"
	"time"

	"weir/crdt"
)

// session finds what a peer has and this node has not. It asks for the digests
// of spans, then of the groups that differ, then of their leaves, and last sends
// lists of what it has in the leaves that differ. The peer answers with the rows
// that are not as listed and names those it lacks, which it then gets. What is
// still to be asked for is compared anew before it is: several sessions at once
// share the work.
type session struct {
	// A session is to be begun, since dueAt.
	due   bool
	dueAt time.Duration
	// The one going on; 0 is none. A later loss makes a new one due.
	number uint64
	// The exchange it is made for; 0 is none.
	exchange uint64
	// When it began or was last answered.
	movedAt time.Duration
	// The last request made, and the last answered.
	made, answered uint32
	open           []openRequest
	// What there is still to ask for, the last first; groups only once no leaves
	// are left. So there are at most the groups of one answer's spans, and the
	// leaves of the groups of maxOpen requests.
	groups []groupItem
	leaves []leafItem
	list   leafRequest
	// More spans differ than one answer tells; something was new here.
	more, fruitful bool
}

// openRequest is one that waits for its answer. Neither groups nor leaves: it is
// of spans.
type openRequest struct {
	number uint32
	at     time.Duration
	groups []groupItem
	leaves []leafItem
}

// groupItem is a group, leafItem a leaf that the peer has otherwise: the peer's
// digest, folded.
type groupItem struct {
	span   crdt.Span
	group  uint8
	digest uint32
}

type leafItem struct {
	span   crdt.Span
	leaf   uint16
	digest uint32
	// The rows up to here were answered, if it is set.
	after crdt.RowID
}

// leafRequest is a request of leaves, being made.
type leafRequest struct {
	items []leafItem
	lists []byte
	marks int
}

func (s *session) want(now time.Duration) {
	if !s.due {
		s.due, s.dueAt = true, now
	}
}

// begin begins a session.
func (s *session) begin(now time.Duration, number, exchange uint64) {
	*s = session{number: number, exchange: exchange, movedAt: now}
}

// end ends the one going on, but remembers when it last moved.
func (s *session) end() {
	*s = session{due: s.due, dueAt: s.dueAt, movedAt: s.movedAt}
}

func (s *session) patience() time.Duration {
	if s.exchange != 0 {
		return exchangePatience
	}
	return sessionPatience
}

// expire says whether the session has stood still. In one that moves, it takes
// back requests that were lost.
func (s *session) expire(now time.Duration) bool {
	if s.number == 0 {
		return false
	}
	if now-s.movedAt >= s.patience() {
		s.end()
		s.want(now)
		return true
	}
	for i := 0; i < len(s.open); {
		if o := s.open[i]; o.number < s.answered && now-o.at >= s.patience()/2 {
			s.groups = append(s.groups, o.groups...)
			s.leaves = append(s.leaves, o.leaves...)
			s.open = slices.Delete(s.open, i, i+1)
			continue
		}
		i++
	}
	return false
}

// asks says whether there is something to ask for now.
func (s *session) asks() bool {
	switch {
	case s.number == 0 || len(s.open) >= maxOpen:
		return false
	case s.made == 0 || len(s.leaves) > 0 || len(s.list.items) > 0:
		return true
	}
	return len(s.groups) > 0
}

func (s *session) done() bool {
	return s.number != 0 && s.made > 0 && len(s.open) == 0 && len(s.groups) == 0 && len(s.leaves) == 0 && len(s.list.items) == 0
}

// opens notes a request.
func (s *session) opens(o openRequest) uint32 {
	s.made++
	o.number = s.made
	s.open = append(s.open, o)
	return s.made
}

// find returns the open request that an answer is to.
func (s *session) find(r *reply) *openRequest {
	if s.number == 0 || s.number != r.session {
		return nil
	}
	for i := range s.open {
		if s.open[i].number == r.number {
			return &s.open[i]
		}
	}
	return nil
}

// closes ends a request that was answered.
func (s *session) closes(number uint32) {
	s.answered = max(s.answered, number)
	s.open = slices.DeleteFunc(s.open, func(o openRequest) bool { return o.number == number })
}
