package gossip

import (
	"time"

	"weir/crdt"
	wirev1 "weir/proto/wire/v1"
)

// nextRequest works at the next request of a session, and says whether there is
// more to do.
func (c *Core) nextRequest(now time.Duration) (m Message, more bool) {
	p := c.nextPeer(func(p *peer) bool {
		return p.session.asks() && !c.pauses(now, p) && (p.session.made == 0 || p.waiting < maxWaiting)
	})
	if p == nil {
		return Message{}, false
	}
	s := &p.session
	request := &wirev1.SyncRequest{Session: s.number, Full: c.isFull(), First: !c.firstSync, All: s.exchange != 0}
	switch {
	case s.made == 0:
		request.Exchange = s.exchange != 0
		request.ExchangeReign = c.reign
		c.askSpans(request)
		request.Number = s.opens(openRequest{at: now})
	case len(s.leaves) > 0 || len(s.list.items) > 0:
		if !c.askLeaves(now, s, request) {
			c.finish(now, p)
			return Message{}, true
		}
	default:
		if !c.askGroups(now, s, request) {
			c.finish(now, p)
			return Message{}, true
		}
	}
	return c.send(now, p, appendProto(c.frame(now, p), frameRequest, request), nil, 0), true
}

// askSpans fills in the spans of all rows. Of more than a request may name it
// takes as many from anywhere in their order.
func (c *Core) askSpans(request *wirev1.SyncRequest) {
	c.spans = c.rows.Spans(c.spans[:0])
	spans := c.spans
	if len(spans) > maxSpans {
		from := c.rand.IntN(len(spans) - maxSpans + 1)
		spans, request.Partial = spans[from:from+maxSpans], true
	}
	for _, span := range spans {
		if !c.endedAt(span.End) {
			request.Spans = append(request.Spans, &wirev1.Span{
				StartUnixSeconds: span.Start, EndUnixSeconds: span.End, Digest: c.rows.SpanDigest(span),
			})
		}
	}
}

// askGroups fills in groups of one span, and says whether any still differ.
func (c *Core) askGroups(now time.Duration, s *session, request *wirev1.SyncRequest) bool {
	var items []groupItem
	for looked := 0; len(s.groups) > 0 && len(items) < groupsAtOnce && looked < 256; looked++ {
		item := s.groups[len(s.groups)-1]
		if len(items) > 0 && item.span != items[0].span {
			break
		}
		s.groups = s.groups[:len(s.groups)-1]
		if fold(c.rows.GroupDigest(item.span, item.group), s.number) != item.digest {
			items = append(items, item)
			request.Groups = append(request.Groups, item.group)
		}
	}
	if len(items) == 0 {
		return false
	}
	request.StartUnixSeconds, request.EndUnixSeconds = items[0].span.Start, items[0].span.End
	request.Number = s.opens(openRequest{at: now, groups: items})
	return true
}

// askLeaves lists what this node has in leaves of one span, few with each call,
// and says whether the request is whole.
func (c *Core) askLeaves(now time.Duration, s *session, request *wirev1.SyncRequest) bool {
	l := &s.list
	for rows, looked := 0, 0; len(s.leaves) > 0 && !l.full(&s.leaves[len(s.leaves)-1]); looked++ {
		if rows >= stepRows/2 || looked >= stepRows {
			return false // go on with the next call
		}
		item := s.leaves[len(s.leaves)-1]
		s.leaves = s.leaves[:len(s.leaves)-1]
		if fold(c.rows.LeafDigest(item.span, item.leaf), s.number) == item.digest {
			continue
		}
		c.leaf = rowsAfter(c.rows.Leaf(c.leaf[:0], item.span, item.leaf), item.after)
		l.lists = appendLeaf(l.lists, item.leaf, c.leaf, s.number)
		l.items = append(l.items, item)
		l.marks += len(c.leaf)
		rows += len(c.leaf)
	}
	if len(l.items) == 0 {
		return false
	}
	first := l.items[0]
	request.StartUnixSeconds, request.EndUnixSeconds = first.span.Start, first.span.End
	request.Leaves = l.lists
	if first.after != (crdt.RowID{}) {
		request.After = first.after[:]
	}
	request.Number = s.opens(openRequest{at: now, leaves: l.items})
	s.list = leafRequest{}
	return true
}

// full says whether a leaf goes into another request.
func (l *leafRequest) full(next *leafItem) bool {
	return len(l.items) > 0 && (len(l.items) >= leavesAtOnce || l.marks >= marksAtOnce ||
		next.span != l.items[0].span || next.after != crdt.RowID{})
}

// rowsAfter cuts off the rows up to an ID; rows are in order.
func rowsAfter(rows []crdt.LeafRow, after crdt.RowID) []crdt.LeafRow {
	if after == (crdt.RowID{}) {
		return rows
	}
	for i, row := range rows {
		if after.Less(row.ID) {
			return rows[i:]
		}
	}
	return nil
}

// hearReply takes in an answer of a peer's, a part of it with each call, and
// says whether there is more of it.
func (c *Core) hearReply(now time.Duration, p *peer, in *Inbound) (more bool) {
	r, s := in.reply, &p.session
	if r == nil {
		return false
	}
	open := s.find(r)
	if open == nil {
		return false
	}
	s.movedAt = now
	c.urgent = true
	switch {
	case len(open.leaves) > 0:
		more = c.hearLeaves(p, in, open)
	case len(open.groups) > 0:
		more = c.hearGroup(p, in, open)
	default:
		more = c.hearSpan(p, in)
	}
	if !more {
		s.closes(r.number)
		c.finish(now, p)
	}
	return more
}

// hearSpan compares the group digests of one span. Every session begins at
// another group, so that those at work at once meet little.
func (c *Core) hearSpan(p *peer, in *Inbound) (more bool) {
	r, s := in.reply, &p.session
	s.more = s.more || r.more
	if in.heardReply >= len(r.spans) {
		return false
	}
	told := &r.spans[in.heardReply]
	in.heardReply++
	if !c.endedAt(told.span.End) {
		var theirs, ours vector
		theirs.decode(told.groups)
		c.rows.GroupDigests(told.span, &c.digests)
		ours.fold(&c.digests, s.number)
		for i := range 256 {
			group := uint8(s.number>>8) + uint8(i)
			if theirs[group] != ours[group] {
				s.groups = append(s.groups, groupItem{told.span, group, theirs[group]})
			}
		}
	}
	return in.heardReply < len(r.spans)
}

// hearGroup compares the leaf digests of one group.
func (c *Core) hearGroup(p *peer, in *Inbound, open *openRequest) (more bool) {
	r, s := in.reply, &p.session
	if in.heardReply >= len(r.groups) {
		return false
	}
	told, span := &r.groups[in.heardReply], open.groups[0].span
	in.heardReply++
	var theirs, ours vector
	theirs.decode(told.leaves)
	c.rows.LeafDigests(span, told.group, &c.digests)
	ours.fold(&c.digests, s.number)
	for i := range 256 {
		if theirs[i] != ours[i] {
			s.leaves = append(s.leaves, leafItem{span: span, leaf: uint16(told.group)<<8 | uint16(i), digest: theirs[i]})
		}
	}
	return in.heardReply < len(r.groups)
}

// hearLeaves notes what the peer wants and what it has not gone through; the
// rows were taken in before.
func (c *Core) hearLeaves(p *peer, in *Inbound, open *openRequest) (more bool) {
	r, s := in.reply, &p.session
	for range stepRows / 16 {
		if in.heardReply >= len(r.wants) {
			break
		}
		leaf := r.wants[in.heardReply].leaf
		c.leaf = c.rows.Leaf(c.leaf[:0], open.leaves[0].span, leaf)
		for ; in.heardReply < len(r.wants) && r.wants[in.heardReply].leaf == leaf; in.heardReply++ {
			for _, row := range c.leaf {
				if shortID(row.ID) == r.wants[in.heardReply].short {
					c.owe(p, row.ID)
				}
			}
		}
	}
	if in.heardReply < len(r.wants) {
		return true
	}
	rest := open.leaves[min(int(r.leavesDone), len(open.leaves)):]
	for i := len(rest) - 1; i >= 0; i-- {
		item := rest[i]
		if i == 0 {
			item.after = r.after
		}
		s.leaves = append(s.leaves, item)
	}
	return false
}

// finish ends a session that has nothing left to ask or to hear.
func (c *Core) finish(now time.Duration, p *peer) {
	s := &p.session
	if !s.done() {
		return
	}
	c.firstSync = true
	p.exchanged = max(p.exchanged, s.exchange)
	if s.more && s.fruitful {
		s.want(now)
	}
	s.end()
	if p.awaited(c.region, c.exchanges) {
		c.beginSessions(now)
	}
}
