package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"

	weirv1 "weir/proto/weir/v1"
)

// node is one `weir serve`, and the clients that reach it.
type node struct {
	*process
	region   *region
	number   int // in its region
	disk     *disk
	config   string // path
	replaced int    // how often
	conn     *grpc.ClientConn
	client   weirv1.LimiterServiceClient
	http     *http.Client
	base     string // URL of its HTTP door, inside the namespace

	// open says whether clients call the node: from its being ready to its
	// death, as behind a load balancer that asks for health.
	open  atomic.Bool
	life  atomic.Int64 // grows with every start
	tally tally
}

// Ports of a region's first node; the second's are a hundred higher.
const (
	grpcPort   = 7420
	httpPort   = 7421
	gossipPort = 7422
	portStep   = 100
	redisPort  = 6379
)

func (w *world) newNode(t *testing.T, r *region, number int) *node {
	t.Helper()
	name := fmt.Sprintf("%s-%d", r.name, number+1)
	dir := filepath.Join(w.dir, name)
	must(t, os.Mkdir(dir, 0o755))
	config := filepath.Join(dir, "weir.yaml")
	disk := openDisk(t, filepath.Join(dir, "state"))
	must(t, os.WriteFile(config, []byte(w.nodeConfig(r, name, number, disk)), 0o644))
	n := &node{
		process: &process{name: name, space: r.space, log: filepath.Join(w.dir, name+".log"),
			args: []string{w.binary, "serve", "--config", config}},
		region: r, number: number, disk: disk, config: config,
		base: fmt.Sprintf("http://127.0.0.1:%d", httpPort+number*portStep),
	}
	dial := func(ctx context.Context, addr string) (net.Conn, error) { return r.space.dial(ctx, addr) }
	conn, err := grpc.NewClient(fmt.Sprintf("passthrough:///127.0.0.1:%d", grpcPort+number*portStep),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(dial), grpc.WithStatsHandler(sentWatch{}),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: time.Second, Backoff: backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1, MaxDelay: 20 * time.Millisecond}}))
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	n.conn = conn
	n.client = weirv1.NewLimiterServiceClient(conn)
	transport := &http.Transport{DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) { return dial(ctx, addr) }}
	t.Cleanup(transport.CloseIdleConnections)
	n.http = &http.Client{Transport: transport, Timeout: time.Second}
	return n
}

func (w *world) nodeConfig(r *region, name string, number int, d *disk) string {
	var names, join []string
	for _, other := range w.network.regions {
		names = append(names, other+": 1")
		for i := range nodesPerRegion {
			if other != r.name || i != number {
				join = append(join, fmt.Sprintf("%s:%d", w.network.spaces[other].address, gossipPort+i*portStep))
			}
		}
	}
	return fmt.Sprintf(`region: %s
node: %s
regions: {%s}
listen:
  grpc: 127.0.0.1:%d
  http: 127.0.0.1:%d
  gossip: %s:%d
store: redis://%s:%d/0
gossip:
  join: [%s]
  keyring_file: %s
rules: %s
snapshot: %s
`, r.name, name, strings.Join(names, ", "), grpcPort+number*portStep, httpPort+number*portStep,
		r.space.address, gossipPort+number*portStep, storeAddress(number), redisPort, strings.Join(join, ", "),
		filepath.Join(w.dir, "keyring"), filepath.Join(w.dir, "rules.yaml"), d.file(snapshotFile))
}

// start begins a life of the node.
func (n *node) start() error {
	n.life.Add(1)
	return n.process.start()
}

// kill stops clients from calling the node only once it is gone: it is killed
// under load.
func (n *node) kill() error {
	defer n.open.Store(false)
	return n.process.kill()
}

// stop ends the node as a supervisor does, after a load balancer stopped
// sending it calls.
func (n *node) stop() error {
	n.open.Store(false)
	return n.process.stop()
}

// replace gives the node's place to one with another name and an empty disk.
// The caller killed it.
func (n *node) replace(w *world) error {
	n.replaced++
	name := fmt.Sprintf("%s-new%d", n.name, n.replaced)
	return errors.Join(os.Remove(n.disk.file(snapshotFile)),
		os.WriteFile(n.config, []byte(w.nodeConfig(n.region, name, n.number, n.disk)), 0o644))
}

// ready waits until the node says that it is, and lets clients call it.
func (n *node) ready(ctx context.Context, within time.Duration) error {
	err := until(ctx, within, n.name+" is ready", func() (bool, string) {
		if err := n.alive(); err != nil {
			return false, err.Error()
		}
		body, code, err := n.get(ctx, "/readyz")
		if err != nil {
			return false, err.Error()
		}
		// Clients hold a connection to a node that is ready; those that still
		// wait to try again would take their own error for the node's.
		n.conn.Connect()
		state := n.conn.GetState()
		return code == http.StatusOK && state == connectivity.Ready, string(body) + "; connection " + state.String()
	})
	if err == nil {
		n.open.Store(true)
	}
	return err
}

// maxAnswerBytes bounds what is read of an answer over HTTP.
const maxAnswerBytes = 16 << 20

func (n *node) get(ctx context.Context, path string) (body []byte, code int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.base+path, nil)
	if err != nil {
		return nil, 0, err
	}
	answer, err := n.http.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswerBytes))
	return body, answer.StatusCode, err
}

// gauge is a whole number that the node tells at /metrics.
func (n *node) gauge(ctx context.Context, name string) (int, error) {
	body, code, err := n.get(ctx, "/metrics")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(body)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.Atoi(strings.TrimSpace(value))
		}
	}
	return 0, fmt.Errorf("%s: no %s at /metrics, status %d", n.name, name, code)
}

// between is the pause between two looks at something waited for.
const between = 50 * time.Millisecond

// until looks until done says so; its error tells what was seen last.
func until(ctx context.Context, within time.Duration, what string, done func() (ok bool, last string)) error {
	deadline := time.Now().Add(within)
	look := time.NewTicker(between)
	defer look.Stop()
	for {
		ok, last := done()
		if ok {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: not within %v; last seen: %s", what, within, last)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w; last seen: %s", what, context.Cause(ctx), last)
		case <-look.C:
		}
	}
}
