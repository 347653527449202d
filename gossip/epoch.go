package gossip

import (
	"context"
	"slices"

	"weir/crdt"
)

// exchangeWait is a caller of Exchange.
type exchangeWait struct {
	number uint64
	done   chan struct{}
}

// Exchange asks the live nodes of the own region for all they know and waits
// until they have answered or the context ends. Who has not answered by then
// counts as gone: unanswered says how many. reign is the one to be used, 0 if it
// is yet to begin. The only error is ErrClosed.
func (m *Mesh) Exchange(ctx context.Context, reign uint64) (unanswered int, err error) {
	w := m.beginExchange(reign)
	m.kickLoop()
	select {
	case <-w.done:
		return 0, nil
	case <-ctx.Done():
	case <-m.ctx.Done():
		return 0, ErrClosed
	}
	return m.endExchange(w), nil
}

func (m *Mesh) beginExchange(reign uint64) *exchangeWait {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := &exchangeWait{m.core.BeginExchange(m.cfg.Clock(), reign), make(chan struct{})}
	m.exchanges = append(m.exchanges, w)
	m.wakeExchanges()
	return w
}

func (m *Mesh) endExchange(w *exchangeWait) (unanswered int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	unanswered = m.core.Unanswered(w.number)
	m.exchanges = slices.DeleteFunc(m.exchanges, func(have *exchangeWait) bool { return have == w })
	return unanswered
}

// wakeExchanges tells those whose exchange is done. The caller holds m.mu.
func (m *Mesh) wakeExchanges() {
	kept := m.exchanges[:0]
	for _, w := range m.exchanges {
		if m.core.Unanswered(w.number) == 0 {
			close(w.done)
		} else {
			kept = append(kept, w)
		}
	}
	clear(m.exchanges[len(kept):])
	m.exchanges = kept
}

// Epoch grows whenever this node begins an exchange or is asked for one. Read it
// before a call to the store, and hand it to RecordAt with the reply.
func (m *Mesh) Epoch() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.core.Epoch()
}

// Believes says whether what the store says in a reign may be believed if it was
// asked at an epoch: whether no exchange has come between, other than in that
// very reign.
func (m *Mesh) Believes(epoch, reign uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.core.Believes(epoch, reign)
}

// RecordAt is RecordRow for what the store said in a reign that was asked at an
// epoch. What may not be believed is not taken in: others were told what this
// node knew before it came, and it may name gifts that those who continue the
// row in another reign know nothing of.
func (m *Mesh) RecordAt(epoch, reign uint64, id crdt.RowID, name crdt.RowName, e crdt.Entry) (changed, believed bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.core.Believes(epoch, reign) {
		return false, false, nil
	}
	changed, err = m.core.Record(id, name, e)
	m.noteGifts()
	return changed, true, err
}
