package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"

	"weir/limiter/store"
)

// Store is a store in a Redis server. Make it with New and Close it after use;
// its methods may be called from any goroutine.
type Store struct {
	opts   Options
	server redis.Options // as the URL says
	log    *slog.Logger

	// calls decide; they belong to one run of the server and are replaced with
	// it. control watches, opens reigns and reads rows.
	calls, control atomic.Pointer[redis.Client]

	run    atomic.Pointer[string] // of the server the reigns were opened in; "" before
	reigns reigns
	opens  atomic.Uint64 // how often reigns were opened
	// refuses says that the server answers calls with errors, which was told.
	refuses atomic.Bool
	// opening lets one goroutine open while others wait for it.
	opening singleflight.Group
	claimed string // the last claim of the one that opens
	// exchanges counts what the region's nodes told this one before new reigns.
	exchanges atomic.Uint64

	mu     sync.Mutex
	state  error // nil while the server is reached and holds a reign
	health Health
	failed time.Time // when opening last failed
	closed bool

	settlements settlements

	life context.Context // ends with Close
	stop context.CancelFunc
	work sync.WaitGroup // watch and settle
}

var _ store.Store = (*Store)(nil)

var (
	errClosed = errors.New("closed")
	errNotYet = errors.New("not reached yet")
	// errNotYetUsed: the server is there, but this node may not use its data.
	errNotYetUsed = errors.New("not used yet")
	errOtherRun   = errors.New("the server was restarted")
)

// New returns a store; errors are those of the options. The server need not be
// there: the store goes on trying until it is. See Ready.
func New(o Options) (*Store, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	server, err := parseURL(o.URL)
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	server.Dialer = o.dial
	s := &Store{opts: o, server: *server, log: o.Log.With("redis", server.Addr), state: errNotYet}
	s.settlements.wake = make(chan struct{}, 1)
	s.life, s.stop = context.WithCancel(context.Background())
	s.run.Store(new(string))
	s.calls.Store(s.newCalls())
	s.control.Store(redis.NewClient(controlOptions(s.server)))
	s.work.Go(s.watch)
	s.work.Go(s.settle)
	return s, nil
}

func (s *Store) newCalls() *redis.Client {
	o := callOptions(s.server, s.opts.Pool, s.opts.Budget)
	o.OnConnect = s.meet
	return redis.NewClient(o)
}

// meet refuses a new connection unless it leads to the run of the server that
// the reigns were opened in: the data of another may be behind.
func (s *Store) meet(ctx context.Context, c *redis.Conn) error {
	run, err := serverRun(ctx, c)
	if err != nil {
		return err
	}
	if run != *s.run.Load() {
		return errOtherRun
	}
	return nil
}

// Reign implements store.Store.
func (s *Store) Reign(tag uint16) store.Reign { return s.reigns.at(tag).nonce }

// Ready implements store.Store. It says what was last heard, at most a second
// or so ago, and does not block.
func (s *Store) Ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil {
		return nil
	}
	return s.unavailable(s.state)
}

// Close ends the store and its connections. Calls under way fail.
func (s *Store) Close() error {
	s.mu.Lock()
	again := s.closed
	s.closed, s.state = true, errClosed
	s.mu.Unlock()
	if again {
		return nil
	}
	s.stop()
	s.work.Wait()
	<-s.opening.DoChan("", func() (any, error) { return nil, nil }) // nobody opens any more
	return errors.Join(s.calls.Load().Close(), s.control.Load().Close())
}

// unavailable wraps an error for a caller.
func (s *Store) unavailable(err error) error {
	return fmt.Errorf("redis %s: %w: %w", s.server.Addr, store.ErrUnavailable, err)
}
