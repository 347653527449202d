package region

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"

	"weir/gossip"
	"weir/limiter"
	"weir/limiter/rule"
	"weir/limiter/store"
	"weir/region/api"
	"weir/region/config"
	"weir/region/ledger"
	"weir/region/quotas"
	"weir/region/telemetry"
)

// Options are what a node is made from.
type Options struct {
	Config *config.Config
	Rules  *rule.Set
	// Keyring encrypts gossip, primary key first; empty leaves it in clear.
	Keyring [][]byte
	Log     *slog.Logger
	Version string

	waits waits // zero for those of defaultWaits; tests have less time
}

// Node is one node of a region. Start makes it, Stop ends it.
type Node struct {
	opts     Options
	log      *slog.Logger
	registry *prometheus.Registry

	mesh      *gossip.Mesh
	store     store.Store
	ledger    *ledger.Ledger
	engine    *limiter.Engine
	gate      *api.Gate
	health    *health.Server
	grpc      *grpc.Server
	http      *http.Server
	regions   *regionStates
	decisions *telemetry.Decisions
	saver     *persister // nil without a snapshot
	settled   *settled
	leases    *limiter.Leases
	refunds   atomic.Pointer[limiter.Refunds] // nil until the doors open
	giver     *giver

	started            time.Time
	grpcAddr, httpAddr net.Addr

	notReady  atomic.Pointer[string] // why; nil once ready
	ready     chan struct{}
	sealing   chan struct{} // closed once receipts can be given
	met       chan struct{} // closed once peers have told what they know, or there are none
	failed    chan error    // at most one: why the node gave up after it started
	restored  []string
	restoreMu sync.Mutex // guards restored

	work     sync.WaitGroup
	workCtx  context.Context // ends when work must stop
	stopping chan struct{}
	cleanups cleanups
}

// Start starts a node. It returns once its doors are open; the node becomes
// ready by itself, when its store has been reached and its peers were heard
// (see Ready). What Start began it ends itself if it fails.
func Start(ctx context.Context, opts Options) (*Node, error) {
	if opts.waits == (waits{}) {
		opts.waits = defaultWaits()
	}
	log := opts.Log.With("node", opts.Config.Node, "region", opts.Config.Region)
	n := &Node{
		opts: opts, log: log,
		started: time.Now(), registry: prometheus.NewRegistry(),
		gate:     api.NewGate(int64(opts.Config.Limits.ConcurrentChecks)),
		ready:    make(chan struct{}),
		sealing:  make(chan struct{}),
		met:      make(chan struct{}),
		settled:  newSettled(),
		failed:   make(chan error, 1),
		stopping: make(chan struct{}),
		cleanups: cleanups{log: log},
	}
	n.waitingFor("starting")
	steps := []func(context.Context) error{n.openSnapshot, n.openMesh, n.openStore, n.measure, n.prepareWork, n.openDoors, n.beginWork}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, n.undo(ctx))
		}
	}
	return n, nil
}

func (n *Node) undo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), doorBudget)
	defer cancel()
	return n.Stop(ctx)
}

// Stop ends the node: it says that it drains, closes its doors to new calls and
// finishes those inside, stops its own work, tells its peers what they have not
// heard, leaves, and writes the snapshot. Calls that are still inside after 3 s,
// or when the context ends, are cut off. All else has budgets of its own, which
// the context does not shorten: a stop takes 20 s at the most, and usually a
// fraction of a second. The error says what was not done.
func (n *Node) Stop(ctx context.Context) error { return n.cleanups.run(ctx) }

// Ready is closed when the node may be sent checks.
func (n *Node) Ready() <-chan struct{} { return n.ready }

// Failed yields the reason if the node cannot go on and must be stopped.
func (n *Node) Failed() <-chan error { return n.failed }

// NotReady returns nil once the node is ready, else what it waits for.
func (n *Node) NotReady() error {
	if why := n.notReady.Load(); why != nil {
		return errors.New(*why)
	}
	return nil
}

// GRPCAddr is where the gRPC door is; with port 0 in the configuration, the
// system chose.
func (n *Node) GRPCAddr() net.Addr { return n.grpcAddr }

// HTTPAddr is where the HTTP door is.
func (n *Node) HTTPAddr() net.Addr { return n.httpAddr }

// GossipAddr is where other nodes reach this one's gossip.
func (n *Node) GossipAddr() string { return n.mesh.Addr() }

func (n *Node) waitingFor(format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	n.notReady.Store(&why)
}

func (n *Node) quotas() *quotas.Reader {
	return quotas.NewReader(quotas.Config{Rows: n.mesh, Rules: n.engine.Rules, Shares: n.ledger,
		Regions: n.opts.Config.RegionNames(), States: n.regions, Now: time.Now})
}

func (n *Node) openSnapshot(context.Context) error {
	path := n.opts.Config.Snapshot
	if path == "" {
		return nil
	}
	saver, err := newPersister(path, n.opts.Config.SnapshotInterval, n.log)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	n.saver = saver
	n.cleanups.add("close the snapshot", closeBudget, func(context.Context) error { return saver.Close() })
	return nil
}
