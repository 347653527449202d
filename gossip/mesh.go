package gossip

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"

	"weir/crdt"
)

const (
	// leaveTimeout bounds how long Leave sends out news.
	leaveTimeout = 5 * time.Second
	// goodbyeTimeout bounds how long it then says good-bye: a few of the 200 ms
	// in which memberlist gossips.
	goodbyeTimeout = time.Second
)

// ErrClosed: the mesh was closed.
var ErrClosed = errors.New("gossip mesh is closed")

// Mesh is this node among the others: a Core, memberlist, and what moves frames
// between them. Its methods may be called from any goroutine.
type Mesh struct {
	cfg     Config
	log     *slog.Logger
	logs    *logWriter
	meta    []byte
	list    *memberlist.Memberlist
	joiner  *joiner
	inbox   inbox
	courier courier

	ctx    context.Context
	cancel context.CancelFunc
	goes   sync.WaitGroup
	ready  chan struct{} // closed once list is set

	firstSync   chan struct{}
	giftsToSave chan struct{}
	kick        chan struct{} // something is to be sent at once

	splits sharedSplits

	// mu guards what follows. It is never held over input or output.
	mu         sync.Mutex
	core       *Core
	row        crdt.Row // room for View
	members    map[string]Member
	senders    map[string]*sender
	conflictAt map[string]time.Duration
	synced     bool
	giftMarks  uint64 // told to giftsToSave
	exchanges  []*exchangeWait
	closed     bool

	outboxDrops, sendErrors, conflicts, strangeParcels atomic.Uint64
}

// Open starts this node's part in the mesh. It listens at once and joins others
// in the background. The caller closes it.
func Open(cfg Config) (*Mesh, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	about, err := cfg.meta()
	if err != nil {
		return nil, err
	}
	joins, err := newJoiner(cfg.Join)
	if err != nil {
		return nil, err
	}
	m := &Mesh{
		cfg: cfg, log: cfg.Logger, logs: &logWriter{to: cfg.Logger}, meta: about, joiner: joins,
		inbox:     inbox{frames: make(chan inFrame, cfg.inboxFrames)},
		courier:   newCourier(),
		ready:     make(chan struct{}),
		firstSync: make(chan struct{}), giftsToSave: make(chan struct{}, 1), kick: make(chan struct{}, 1),
		core:    cfg.core(),
		members: make(map[string]Member), senders: make(map[string]*sender),
		conflictAt: make(map[string]time.Duration),
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	if cfg.Splits != nil {
		m.MergeSplits(cfg.Splits)
	}
	if cfg.Saved != nil {
		if err := cfg.Saved(func(row *crdt.Row) { m.Restore(row) }); err != nil {
			return nil, fmt.Errorf("saved rows: %w", err)
		}
	}
	if err := m.start(); err != nil {
		m.cancel()
		m.goes.Wait()
		return nil, err
	}
	return m, nil
}

func (m *Mesh) start() error {
	t, err := newTransport(&m.cfg, m.logs)
	if err != nil {
		return err
	}
	conf, err := m.cfg.memberlist(t, m.logs)
	if err == nil {
		conf.Delegate, conf.Events, conf.Conflict = delegate{m}, events{m}, events{m}
		m.list, err = memberlist.Create(conf)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("start gossip: %w", err), t.Shutdown())
	}
	close(m.ready)
	m.goes.Go(func() { m.tickLoop(m.ctx) })
	m.goes.Go(func() { m.stepLoop(m.ctx) })
	m.goes.Go(func() { m.joinLoop(m.ctx) })
	m.goes.Go(func() { m.courierLoop(m.ctx) })
	m.goes.Go(func() { m.deliverLoop(m.ctx) })
	return nil
}

func (m *Mesh) tickLoop(ctx context.Context) {
	tick := time.NewTicker(TickInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			m.tick()
		case <-m.kick:
			m.drain()
		}
	}
}

// kickLoop has what is urgent sent before the next tick.
func (m *Mesh) kickLoop() {
	select {
	case m.kick <- struct{}{}:
	default: // it was kicked and has not looked yet
	}
}

// tick does what is due. Whoever waits for the lock gets it in between: without
// a word the loop would take it again before a waiter is awake.
func (m *Mesh) tick() {
	m.beginTick()
	m.drain()
}

func (m *Mesh) drain() {
	for m.next() {
		runtime.Gosched()
	}
}

func (m *Mesh) beginTick() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.core.Tick(m.cfg.Clock(), m.cfg.Now().Unix())
}

func (m *Mesh) next() (more bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	msg, more := m.core.Next(m.cfg.Clock())
	if !msg.IsZero() {
		m.post(msg)
	}
	m.follow()
	return more
}

// Addr is the address others reach this node at, IP:port.
func (m *Mesh) Addr() string { return hostPort(m.list.LocalNode()) }

// Leave sends out what peers were not told yet and says good-bye, so that they
// need not find out. It returns when that is done, or a second after the context
// ended or 5 s have passed; the error says that news was left untold.
func (m *Mesh) Leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	if m.isClosed() {
		return ErrClosed
	}
	told := m.flush(ctx)
	// Where all leave at once, nobody is left to hear it and memberlist waits in
	// vain; who did not hear it notices the silence.
	if err := m.list.Leave(goodbyeTimeout); err != nil {
		m.log.Info("left without everyone having heard it", "err", err)
	}
	return told
}

// flush waits until all news is sent.
func (m *Mesh) flush(ctx context.Context) error {
	check := time.NewTicker(5 * time.Millisecond)
	defer check.Stop()
	m.farewell()
	m.tick()
	for !m.flushed() {
		select {
		case <-check.C:
		case <-ctx.Done():
			return fmt.Errorf("send the last changed rows: %w", ctx.Err())
		}
	}
	return nil
}

func (m *Mesh) farewell() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.core.Farewell()
}

func (m *Mesh) flushed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.core.Told(m.cfg.Clock())
}

func (m *Mesh) isClosed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

// Close stops without a word to the others and frees everything. A second call
// does nothing.
func (m *Mesh) Close() error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	err := m.list.Shutdown()
	m.goes.Wait()
	if err != nil {
		return fmt.Errorf("close gossip: %w", err)
	}
	return nil
}
