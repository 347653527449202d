package gossip

import (
	"slices"

	"weir/crdt"
)

// pageRows bounds the rows looked at under one hold of the lock.
const pageRows = 512

// Record is RecordRow for a caller that has no ID at hand; what is refused is
// counted.
func (m *Mesh) Record(name crdt.RowName, e crdt.Entry) (changed bool) {
	changed, _ = m.RecordRow(name.ID(), name, e)
	return changed
}

// RecordRow takes in what this node's region counted, tells the others with the
// next tick, and says whether it was new. id is name.ID(). An error says that the
// entry was refused and will not reach others, see Core.Record.
func (m *Mesh) RecordRow(id crdt.RowID, name crdt.RowName, e crdt.Entry) (changed bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	changed, err = m.core.Record(id, name, e)
	m.noteGifts()
	return changed, err
}

// Restore takes in a row that this node had saved, and returns how many of its
// entries were new. What is refused is counted.
func (m *Mesh) Restore(row *crdt.Row) (news int) {
	name := row.Name()
	id := name.ID()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range row.Entries() {
		if changed, _ := m.core.Restore(id, name, e); changed {
			news++
		}
	}
	return news
}

// Generation is the newest generation known of the row that has this ID in
// generation 0.
func (m *Mesh) Generation(first crdt.RowID) uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.core.Generation(first)
}

// Look calls f with the row, if it is known, under the terms of View, and says
// all else that a call to the store must know.
func (m *Mesh) Look(id crdt.RowID, f func(*crdt.Row)) Known {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.core.Row(id, &m.row) {
		f(&m.row)
	}
	return m.core.Known(id)
}

// View calls f with the row, if it is known, and says whether it is. f runs
// under a lock that every check takes: it copies what it needs and returns, and
// calls no method of the mesh.
func (m *Mesh) View(id crdt.RowID, f func(*crdt.Row)) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.core.Row(id, &m.row) {
		return false
	}
	f(&m.row)
	return true
}

// Each calls f with every row in turn, under the terms of View. Rows that come
// meanwhile may be missed.
func (m *Mesh) Each(f func(*crdt.Row)) {
	for place := uint32(0); ; place += pageRows {
		if !m.page(place, f) {
			return
		}
	}
}

func (m *Mesh) page(from uint32, f func(*crdt.Row)) (more bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	places := m.core.Places()
	for place := from; place < min(from+pageRows, places); place++ {
		if m.core.At(place, &m.row) {
			f(&m.row)
		}
	}
	return from+pageRows < places
}

// TakeUnsaved returns up to limit rows that changed since they were last taken.
// The rows are the caller's; if it fails to save them it gives their IDs to
// MarkUnsaved.
func (m *Mesh) TakeUnsaved(limit int) []*crdt.Row {
	var out []*crdt.Row
	for len(out) < limit {
		page := m.takeUnsaved(min(limit-len(out), pageRows))
		if len(page) == 0 {
			break
		}
		out = append(out, page...)
	}
	return out
}

func (m *Mesh) takeUnsaved(limit int) []*crdt.Row {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.core.TakeUnsaved(limit)
}

// TakeChanged is Core.TakeChanged.
func (m *Mesh) TakeChanged(dst []crdt.RowID, limit int) []crdt.RowID {
	for end := len(dst) + limit; len(dst) < end; {
		before := len(dst)
		if dst = m.takeChanged(dst, min(end-before, pageRows)); len(dst) == before {
			break
		}
	}
	return dst
}

func (m *Mesh) takeChanged(dst []crdt.RowID, limit int) []crdt.RowID {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.core.TakeChanged(dst, limit)
}

// MarkDurable takes rows of TakeUnsaved that are on disk to stay: other nodes
// are told of this region's gifts in them only now, see Core.MarkDurable.
func (m *Mesh) MarkDurable(rows []*crdt.Row) {
	for page := range slices.Chunk(rows, pageRows) {
		m.markDurable(page)
	}
}

func (m *Mesh) markDurable(rows []*crdt.Row) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.core.MarkDurable(rows)
}

// GiftsToSave gets a value when gifts wait to be saved: until they are, no other
// node hears of them from this one.
func (m *Mesh) GiftsToSave() <-chan struct{} { return m.giftsToSave }

// noteGifts tells whoever saves rows of gifts that are new. The caller holds
// m.mu.
func (m *Mesh) noteGifts() {
	marks := m.core.GiftMarks()
	if marks == m.giftMarks {
		return
	}
	m.giftMarks = marks
	select {
	case m.giftsToSave <- struct{}{}:
	default: // one is waiting already
	}
}

// MarkUnsaved marks rows as to be saved.
func (m *Mesh) MarkUnsaved(ids ...crdt.RowID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.core.MarkUnsaved(ids...)
}

// Heard returns the age of the newest state heard from each region.
func (m *Mesh) Heard() []RegionAge {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.core.Heard(m.cfg.Clock())
}

// FirstSync is closed once a peer has told this node all its rows.
func (m *Mesh) FirstSync() <-chan struct{} { return m.firstSync }

// Changes counts the entries that were new so far.
func (m *Mesh) Changes() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.core.Changes()
}

// Stats is what a mesh counted, and how full it is.
type Stats struct {
	Counters

	// Frames dropped because a queue was full: of what came, of what was to go.
	InboxDrops, OutboxDrops uint64
	// SendErrors counts frames that could not be sent.
	SendErrors uint64
	// Strangers counts packets and streams refused for their key or label.
	Strangers uint64
	// Conflicts counts messages of a second node with a member's name.
	Conflicts uint64
	// Parcels for other regions: waiting, not taken in time, dropped on arrival
	// because the queue was full (they come again), taken here, malformed.
	ParcelsWaiting                                                   int
	ParcelsExpired, ParcelsDropped, ParcelsDelivered, ParcelsRefused uint64
	// LogLinesSuppressed counts lines of memberlist's that were too many.
	LogLinesSuppressed uint64

	// Rows held; of those, rows changed and not saved; rows changed and not told
	// to others; rows with gifts of this region that other nodes are not told yet,
	// because this node's disk does not hold them.
	Rows, RowsUnsaved, RowsUntold, RowsWithheld int
	Peers                                       int
}

// Stats returns the counts so far.
func (m *Mesh) Stats() Stats {
	parcels := m.ParcelsWaiting()
	m.mu.Lock()
	defer m.mu.Unlock()
	return Stats{
		ParcelsWaiting: parcels, ParcelsExpired: m.courier.expired.Load(), ParcelsDropped: m.courier.dropped.Load(),
		ParcelsDelivered: m.courier.delivered.Load(), ParcelsRefused: m.strangeParcels.Load(),
		Counters:    m.core.Counters(),
		InboxDrops:  m.inbox.drops.Load(),
		OutboxDrops: m.outboxDrops.Load(), SendErrors: m.sendErrors.Load(),
		Strangers: m.logs.strangers.Load(), Conflicts: m.conflicts.Load(),
		LogLinesSuppressed: m.logs.suppressed.Load(),
		Rows:               m.core.Len(), RowsUnsaved: m.core.Unsaved(), RowsUntold: m.core.Untold(),
		RowsWithheld: m.core.Withheld(),
		Peers:        m.core.Peers(),
	}
}
