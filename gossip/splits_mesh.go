package gossip

import (
	"sync/atomic"

	"weir/crdt"
)

// sharedSplits are the core's splits, to be read without its lock.
type sharedSplits struct {
	current atomic.Pointer[crdt.Splits]
	changes uint64 // of the core's that current has; guarded by the mesh's lock
}

var noSplits crdt.Splits

// Splits is how rights are shared out, as this node knows it. It is only read,
// and another one once anything has changed. No lock is taken.
func (m *Mesh) Splits() *crdt.Splits {
	if s := m.splits.current.Load(); s != nil {
		return s
	}
	return &noSplits
}

// MergeSplits is Core.MergeSplits.
func (m *Mesh) MergeSplits(s *crdt.Splits) (changed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	changed = m.core.MergeSplits(s)
	m.follow()
	return changed
}

// Acknowledge is Core.Acknowledge.
func (m *Mesh) Acknowledge(version uint64, ack crdt.Ack) (changed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	changed = m.core.Acknowledge(version, ack)
	m.follow()
	return changed
}

// shareSplits shows readers what the core has. The caller holds m.mu.
func (m *Mesh) shareSplits() {
	if changes := m.core.SplitsChanges(); changes != m.splits.changes {
		known := m.core.Splits()
		m.splits.current.Store(&known)
		m.splits.changes = changes
	}
}
