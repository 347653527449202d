package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"weir/limiter/document"
	"weir/limiter/store"
)

const (
	// DefaultBudget is how long a call may take, waiting for a connection
	// included.
	DefaultBudget = 50 * time.Millisecond
	// MaxPool is the most connections a node may hold for its calls, and the
	// default.
	MaxPool = 50
	// controlPool is how many more it holds to watch the server, open reigns and
	// read rows.
	controlPool = 2
	// controlTimeout bounds each step of those.
	controlTimeout = 2 * time.Second
	// openTimeout bounds the opening of a reign: to wait for another opener, and
	// for what the region's nodes exchange.
	openTimeout = 8 * time.Second
)

// Options are what a store is made from.
type Options struct {
	// URL is redis://[user:password@]host:port/db, rediss:// for TLS, or
	// unix://path?db=0.
	URL string
	// Region is whose state the server holds. The first to come claims it, and a
	// node of another region is refused: what it read it would take for its own
	// region's counts. Empty claims nothing.
	Region string
	// Split is the version of the split that the node makes shares by. It stands
	// beside the data; nodes of another are refused.
	Split uint64
	// Log is where changes of state are told; nil is slog.Default.
	Log *slog.Logger
	// Observe is told how long each round trip took and how it failed, nil when
	// it did not. It is called on the path of every check and must not block.
	Observe func(latency time.Duration, err error)
	// Exchange is called before the store uses a reign that is new to it: with the
	// reign claimed or opened, so that nothing is decided in one before, and not
	// yet used. It is told the reign if that is in force already, 0 if it is yet to
	// begin. It exchanges with the region's nodes what each knows. An error says
	// that it cannot yet; the store then goes on trying. A call that names no
	// reign and was asked before it is answered with WrongReign: its caller knows
	// more now. nil passes at once.
	Exchange func(ctx context.Context, reign store.Reign) error
	// Settled, if not nil, is told how a row stands after the store looked at a
	// call that was given up, or whose answer was lost, and took back what it had
	// charged. It must not block.
	Settled func(*store.QuotaRow)
	// Clock is a monotonic clock that runs through suspension, by which replies
	// are late; nil is Go's, which does not.
	Clock func() time.Duration
	// Budget is how long a call may take; 0 is DefaultBudget.
	Budget time.Duration
	// Pool is how many connections calls may use; 0 is MaxPool.
	Pool int

	// dial replaces the network in tests; nil is the system's.
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// complete fills in defaults and says what is wrong with the rest.
func (o *Options) complete() error {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Observe == nil {
		o.Observe = func(time.Duration, error) {}
	}
	if o.Settled == nil {
		o.Settled = func(*store.QuotaRow) {}
	}
	if o.Clock == nil {
		start := time.Now()
		o.Clock = func() time.Duration { return time.Since(start) }
	}
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	if o.Pool == 0 {
		o.Pool = MaxPool
	}
	switch {
	case o.Budget < 0:
		return fmt.Errorf("budget %v: must be above 0", o.Budget)
	case o.Pool < 1 || o.Pool > MaxPool:
		return fmt.Errorf("pool %d: must be 1 to %d", o.Pool, MaxPool)
	}
	return nil
}

const urlForm = "write redis://HOST:PORT/DB, rediss://HOST:PORT/DB or unix:///PATH?db=DB"

var errNotURL = errors.New("not a URL; write special characters of the password as %XX: " + urlForm)

// CheckURL says what is wrong with a store's URL. It never repeats the URL or
// its password.
func CheckURL(text string) error {
	_, err := parseURL(text)
	return err
}

func parseURL(text string) (*redis.Options, error) {
	scheme, _, ok := strings.Cut(text, "://")
	if !ok {
		return nil, errors.New("not a URL; " + urlForm)
	}
	switch scheme {
	case "redis", "rediss", "unix":
	case "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster":
		return nil, fmt.Errorf("%s:// is %s; %s", scheme, document.NotImplemented, urlForm)
	default:
		return nil, errors.New("unknown kind of store; " + urlForm)
	}
	u, err := url.Parse(text)
	if err != nil || u.Fragment != "" || strings.Contains(u.Path+u.RawQuery, "@") {
		return nil, errNotURL // what the parser says may hold the password
	}
	for name := range u.Query() {
		// Others, such as max_retries, would break what the store promises.
		if name != "db" {
			return nil, fmt.Errorf("parameter %q is %s; remove it", name, document.NotImplemented)
		}
	}
	o, err := redis.ParseURL(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s; %s", strings.TrimPrefix(err.Error(), "redis: "), urlForm)
	case o.DB < 0:
		return nil, fmt.Errorf("database %d: must be at least 0", o.DB)
	}
	return o, nil
}

// silent drops what go-redis would print: it comes back as errors too.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// The logger is go-redis's one for all clients, so it is set once.
func init() { redis.SetLogger(silent{}) }

// clientOptions are what both clients of a store share.
func clientOptions(o redis.Options) redis.Options {
	o.Protocol = 2
	o.DisableIdentity = true
	o.MaxRetries = -1 // a charge whose reply was lost may stand: never repeat it
	o.ContextTimeoutEnabled = true
	o.DialerRetries = 1
	o.PipelinePoolSize = -1 // it would come on top of the pool
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o
}

// callOptions are for the connections that decide.
func callOptions(o redis.Options, pool int, budget time.Duration) *redis.Options {
	o = clientOptions(o)
	o.PoolSize, o.MaxActiveConns, o.MaxIdleConns, o.MinIdleConns = pool, pool, pool, 0
	o.PoolTimeout, o.ReadTimeout, o.WriteTimeout = budget, budget, budget
	o.DialTimeout = controlTimeout
	return &o
}

// controlOptions are for those that watch, open reigns and read rows.
func controlOptions(o redis.Options) *redis.Options {
	o = clientOptions(o)
	o.PoolSize, o.MaxActiveConns, o.MaxIdleConns, o.MinIdleConns = controlPool, controlPool, controlPool, 0
	o.PoolTimeout, o.ReadTimeout, o.WriteTimeout = controlTimeout, controlTimeout, controlTimeout
	o.DialTimeout = controlTimeout
	return &o
}
