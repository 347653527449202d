package gossip

import (
	"time"

	"weir/crdt"
	wirev1 "weir/proto/wire/v1"
)

// answer is the answer to a request, being made.
type answer struct {
	to      string // empty: none is
	request *request
	// Of a request of leaves: those gone through, and the row come to in the next.
	leaves int
	after  crdt.RowID
	rows   []byte
	count  int
	wants  []byte
}

// hearRequest notes a peer's request. One of spans begins a session: those of
// earlier ones are not waited for any more.
func (c *Core) hearRequest(now time.Duration, p *peer, r *request) {
	if r == nil {
		return
	}
	p.asked, p.askedAt, p.askedFirst = true, now, r.first
	c.urgent = true
	if r.ofSpans() {
		p.requests = p.requests[:0]
		if c.answer.to == p.Name {
			c.answer = answer{}
		}
	}
	if len(p.requests) >= maxRequests {
		c.counters.RequestsDropped++
		return
	}
	p.requests = append(p.requests, r)
}

// mayRepair says whether a peer may get an answer or a repair before the next
// tick.
func (c *Core) mayRepair(p *peer) bool {
	return c.answerBytesLeft > 0 && p.answerBytes < maxAnswerBytes && p.waiting < maxWaiting
}

// sendRepair sends an answer or a repair.
func (c *Core) sendRepair(now time.Duration, p *peer, head, rows []byte, count int) Message {
	c.answerBytesLeft -= len(head) + len(rows)
	p.answerBytes += len(head) + len(rows)
	return c.send(now, p, appendUint(head, frameRepair, 1), rows, count)
}

// nextAnswer works at the next answer that may go out before the next tick, and
// says whether there is more to do.
func (c *Core) nextAnswer(now time.Duration) (m Message, more bool) {
	a := &c.answer
	p := c.byName[a.to]
	if p == nil || a.to == "" {
		p = c.nextPeer(func(p *peer) bool { return len(p.requests) > 0 && c.mayRepair(p) })
		if p == nil {
			c.answer = answer{}
			return Message{}, false
		}
		c.answer = answer{to: p.Name, request: p.requests[0]}
		p.requests = append(p.requests[:0], p.requests[1:]...)
		c.answer.after = c.answer.request.after
	}
	out := &wirev1.SyncAnswer{Session: a.request.session, Number: a.request.number}
	switch {
	case len(a.request.leaves) > 0:
		if !c.answerLeaves(p) {
			return Message{}, true
		}
		out.LeavesDone, out.Wants = uint32(a.leaves), a.wants
		if a.leaves < len(a.request.leaves) && a.after != (crdt.RowID{}) {
			out.After = a.after[:]
		}
	case len(a.request.groups) > 0:
		c.answerGroups(a.request, out)
	default:
		c.answerSpans(a.request, out)
	}
	rows, count := a.rows, a.count
	c.answer = answer{}
	c.counters.Answers++
	head := appendProto(c.frame(now, p), frameAnswer, out)
	return c.sendRepair(now, p, head, rows, count), true
}

// answerSpans tells the groups of the spans that differ: both lists are in
// order. Who has no room is told of no further spans.
func (c *Core) answerSpans(r *request, out *wirev1.SyncAnswer) {
	c.spans = c.rows.Spans(c.spans[:0])
	asked := r.spans
	for _, span := range c.spans {
		for len(asked) > 0 && asked[0].span.Compare(span) < 0 {
			c.answerLacking(asked[0].span, out)
			asked = asked[1:]
		}
		listed := len(asked) > 0 && asked[0].span == span
		same := listed && asked[0].digest == c.rows.SpanDigest(span)
		if listed {
			asked = asked[1:]
		}
		if !same && (listed || (!r.partial && !r.full)) {
			c.answerSpan(span, r.session, out)
		}
	}
	for _, s := range asked {
		c.answerLacking(s.span, out)
	}
}

// answerLacking is answerSpan of a span of which this node has no rows.
func (c *Core) answerLacking(span crdt.Span, out *wirev1.SyncAnswer) {
	if !c.isFull() {
		c.answerSpan(span, out.Session, out)
	}
}

func (c *Core) answerSpan(span crdt.Span, session uint64, out *wirev1.SyncAnswer) {
	if c.endedAt(span.End) {
		return
	}
	if len(out.Spans) >= maxAnswerSpans {
		out.More = true
		return
	}
	var v vector
	c.rows.GroupDigests(span, &c.digests)
	v.fold(&c.digests, session)
	out.Spans = append(out.Spans, &wirev1.Span{StartUnixSeconds: span.Start, EndUnixSeconds: span.End, Groups: v.encode()})
}

func (c *Core) answerGroups(r *request, out *wirev1.SyncAnswer) {
	if c.endedAt(r.span.End) {
		return
	}
	for _, group := range r.groups {
		var v vector
		c.rows.LeafDigests(r.span, group, &c.digests)
		v.fold(&c.digests, r.session)
		out.Groups = append(out.Groups, &wirev1.Group{Group: uint32(group), Leaves: v.encode()})
	}
}

// answerLeaves goes through leaves, few with each call, and says whether the
// answer is whole: all were gone through, or the frame is full.
func (c *Core) answerLeaves(p *peer) (whole bool) {
	a := &c.answer
	if c.endedAt(a.request.span.End) {
		a.leaves = len(a.request.leaves)
		return true
	}
	for looked := 0; a.leaves < len(a.request.leaves) && looked < stepRows/2; {
		list := &a.request.leaves[a.leaves]
		c.leaf = c.rows.Leaf(c.leaf[:0], a.request.span, list.leaf)
		rows := rowsAfter(c.leaf, a.after)
		looked += 1 + len(rows) + len(list.marks)
		if !c.answerLeaf(p, list, rows) {
			return true
		}
		a.leaves++
		a.after = crdt.RowID{}
	}
	return a.leaves == len(a.request.leaves)
}

// answerLeaf compares a leaf with what the peer has of it. Both are in order, so
// it goes through them run by run of equal short IDs. It says whether all had
// room.
func (c *Core) answerLeaf(p *peer, list *leafList, rows []crdt.LeafRow) bool {
	a := &c.answer
	marks := list.marks
	for len(rows) > 0 || len(marks) > 0 {
		var short uint16
		if len(rows) > 0 && (len(marks) == 0 || shortID(rows[0].ID) <= marks[0].short) {
			short = shortID(rows[0].ID)
		} else {
			short = marks[0].short
		}
		r, m := 0, 0
		for r < len(rows) && shortID(rows[r].ID) == short {
			r++
		}
		for m < len(marks) && marks[m].short == short {
			m++
		}
		// After what the peer had in the middle of a leaf come only later rows.
		if !c.answerRun(p, want{list.leaf, short}, rows[:r], marks[:m]) {
			return false
		}
		if r > 0 {
			a.after = rows[r-1].ID
		}
		rows, marks = rows[r:], marks[m:]
	}
	return true
}

// answerRun answers with the rows of a run that the peer has not just so, and
// wants what it has and this node lacks. It says whether they had room; if not,
// none of them is in the answer.
func (c *Core) answerRun(p *peer, w want, rows []crdt.LeafRow, marks []rowMark) bool {
	a := &c.answer
	end, count, unknown := len(a.rows), a.count, len(marks)
	for _, row := range rows {
		if hasMark(marks, markOf(row, a.request.session)) {
			unknown--
			continue
		}
		if a.request.full && len(marks) == 0 {
			continue
		}
		if c.rows.Row(row.ID, &c.row) {
			a.rows = c.encoder.append(a.rows, c.row.Name(), c.entriesFor(p, a.request.all), wholeRow, c.regions.index)
			a.count++
		}
		unknown-- // it is one the peer has otherwise
	}
	if len(a.rows) > maxRowsBytes && count > 0 {
		a.rows, a.count = a.rows[:end], count
		return false
	}
	if unknown > 0 && !c.isFull() {
		a.wants = appendWant(a.wants, w)
	}
	return true
}

func hasMark(marks []rowMark, m rowMark) bool {
	for _, have := range marks {
		if have == m {
			return true
		}
	}
	return false
}

// entriesFor is what a peer may be told of the row in c.row: if it asks in an
// exchange of the own region, all of it.
func (c *Core) entriesFor(p *peer, all bool) []crdt.Entry {
	if (all && p.Region == c.region) || len(c.withheld.rows) == 0 {
		return c.row.Entries()
	}
	return c.withheld.durable(c.row.Name().ID(), c.row.Entries())
}
