package gossip

import (
	"bytes"
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// inboxFrames and inboxBytes bound what has come and not been taken in.
	inboxFrames = 1024
	inboxBytes  = 64 << 20
)

// inbox holds frames that came, until they are taken in. What does not fit is
// dropped: its number is missing then, so the core asks the sender again.
type inbox struct {
	frames chan inFrame
	bytes  atomic.Int64
	drops  atomic.Uint64
}

type inFrame struct {
	frame []byte
	at    time.Duration // when it came: ages are taken from then
}

// put copies a frame in; it does not wait.
func (b *inbox) put(frame []byte, at time.Duration) {
	size := int64(len(frame))
	if b.bytes.Add(size) > inboxBytes {
		b.bytes.Add(-size)
		b.drops.Add(1)
		return
	}
	select {
	case b.frames <- inFrame{bytes.Clone(frame), at}:
	default:
		b.bytes.Add(-size)
		b.drops.Add(1)
	}
}

// delegate is what memberlist asks and tells. User state is not exchanged by
// push/pull, which is capped at 20 MiB: frames carry everything.
type delegate struct{ m *Mesh }

// NodeMeta implements memberlist.Delegate.
func (d delegate) NodeMeta(int) []byte { return d.m.meta }

// NotifyMsg implements memberlist.Delegate. It is called for one message at a
// time, and the buffer is used again.
func (d delegate) NotifyMsg(message []byte) {
	if isParcel(message) {
		if err := d.m.courier.take(message); err != nil {
			d.m.strangeParcels.Add(1)
		}
		return
	}
	d.m.inbox.put(message, d.m.cfg.Clock())
}

// GetBroadcasts implements memberlist.Delegate.
func (d delegate) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState implements memberlist.Delegate.
func (d delegate) LocalState(bool) []byte { return nil }

// MergeRemoteState implements memberlist.Delegate.
func (d delegate) MergeRemoteState([]byte, bool) {}

func (m *Mesh) stepLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-m.inbox.frames:
			m.inbox.bytes.Add(-int64(len(f.frame)))
			m.step(f)
		}
	}
}

// step takes in a frame. It is decoded before the lock is taken, which is let go
// after every few rows.
func (m *Mesh) step(f inFrame) {
	in := Decode(f.frame)
	for more := true; more; {
		var err error
		if more, err = m.stepRows(f.at, in); err != nil {
			m.log.Debug("gossip: frame dropped", "error", err)
		}
		runtime.Gosched()
	}
}

func (m *Mesh) stepRows(at time.Duration, in *Inbound) (more bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	more, err = m.core.Step(at, in)
	m.follow()
	return more, err
}

// follow tells those who wait what became of the core. The caller holds m.mu.
func (m *Mesh) follow() {
	m.shareSplits()
	m.noteGifts()
	m.wakeExchanges()
	if m.core.takeUrgent() {
		m.kickLoop()
	}
	if m.core.FirstSync() && !m.synced {
		m.synced = true
		close(m.firstSync)
	}
}
