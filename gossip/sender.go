package gossip

import (
	"context"
	"slices"
	"time"

	"github.com/hashicorp/memberlist"
)

// outboxFrames bounds the frames that wait for one peer: two ticks' worth of
// the most a tick makes, and the small ones of a session. News is shared by all
// who are told it.
const outboxFrames = 2*(maxDeltaFrames+maxWaiting) + maxOpen

// sender sends frames to one peer, in order. One that cannot keep up loses
// frames, and no other peer waits for it.
type sender struct {
	node   memberlist.Node
	outbox chan outFrame
	stop   chan struct{}
}

type outFrame struct {
	msg Message
	at  time.Duration // when it was made
}

// startSender starts a peer's sender. The caller holds m.mu.
func (m *Mesh) startSender(n memberlist.Node) {
	m.stopSender(n.Name)
	n.Addr = slices.Clone(n.Addr)
	s := &sender{node: n, outbox: make(chan outFrame, outboxFrames), stop: make(chan struct{})}
	m.senders[n.Name] = s
	m.goes.Go(func() { m.sendLoop(m.ctx, s) })
}

// stopSender stops a peer's sender, if there is one; what waits is lost. The
// caller holds m.mu.
func (m *Mesh) stopSender(name string) {
	if s := m.senders[name]; s != nil {
		close(s.stop)
		delete(m.senders, name)
	}
}

// post hands a message to its peer's sender. The caller holds m.mu.
func (m *Mesh) post(msg Message) {
	s := m.senders[msg.To]
	if s != nil {
		select {
		case s.outbox <- outFrame{msg, m.cfg.Clock()}:
			return
		default:
			m.outboxDrops.Add(1)
		}
	}
	m.core.Undelivered(m.cfg.Clock(), msg.To)
}

func (m *Mesh) sendLoop(ctx context.Context, s *sender) {
	select {
	case <-m.ready:
	case <-ctx.Done():
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.stop:
			return
		case f := <-s.outbox:
			m.sendFrame(s, f)
		}
	}
}

func (m *Mesh) sendFrame(s *sender, f outFrame) {
	err := m.list.SendReliable(&s.node, f.msg.Frame(m.cfg.Clock()-f.at))
	if err != nil {
		m.sendErrors.Add(1)
		m.log.Debug("gossip: frame not sent", "node", s.node.Name, "error", err)
	}
	m.report(s, err == nil)
}

// report tells the core what became of a frame, unless its peer went meanwhile.
func (m *Mesh) report(s *sender, sent bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.senders[s.node.Name] != s:
	case sent:
		m.core.Sent(s.node.Name)
	default:
		m.core.Undelivered(m.cfg.Clock(), s.node.Name)
	}
}
