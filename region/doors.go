package region

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	weirv1 "weir/proto/weir/v1"
	"weir/region/api"
	"weir/region/dashboard"
	"weir/region/telemetry"
)

// Bounds of the gRPC door.
const (
	maxMessageBytes   = 4 << 20
	maxStreamsPerConn = 1000
	// A connection that never says a word holds up a stop for so long.
	handshakeTimeout = 2 * time.Second
	// Connections are renewed so that callers spread over nodes that came
	// later; a call in flight has the grace to finish.
	maxConnAge      = 30 * time.Minute
	maxConnAgeGrace = time.Minute
)

// Bounds of the HTTP door. A watch lasts as long as its reader: it puts off
// writeTimeout with each event.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 20 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 32 << 10
)

// openDoors listens and serves: alive at once, ready later.
func (n *Node) openDoors(ctx context.Context) error {
	listenTo := n.opts.Config.Listen
	grpcLis, err := listen(ctx, "listen.grpc", listenTo.GRPC)
	if err != nil {
		return err
	}
	httpLis, err := listen(ctx, "listen.http", listenTo.HTTP)
	if err != nil {
		return errors.Join(err, grpcLis.Close())
	}
	n.grpcAddr, n.httpAddr = grpcLis.Addr(), httpLis.Addr()

	n.decisions = telemetry.NewDecisions(n.registry)
	refunds := n.newRefunds()
	checks := api.NewLimiter(n.engine, refunds, n.regions, n.gate, n.decisions)
	quotas := api.NewQuotaService(n.quotas(), n.regions, n.stopping)
	n.serveGRPC(grpcLis, checks, quotas, api.NewEnvoy(n.engine, refunds, n.gate, n.decisions))
	n.serveHTTP(httpLis, checks, quotas)
	n.cleanups.addHeeding("close the doors", doorBudget, n.closeDoors)
	return nil
}

// closeDoors closes both at once, within one budget.
func (n *Node) closeDoors(ctx context.Context) error {
	var g errgroup.Group
	g.Go(func() error { n.closeGRPC(ctx); return nil })
	g.Go(func() error { return n.closeHTTP(ctx) })
	return g.Wait()
}

func listen(ctx context.Context, field, addr string) (net.Listener, error) {
	lis, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return lis, nil
}

func (n *Node) serveGRPC(lis net.Listener, checks *api.Limiter, quotas *api.QuotaService, envoy *api.Envoy) {
	n.grpc = grpc.NewServer(
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.MaxConcurrentStreams(maxStreamsPerConn),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: maxConnAge, MaxConnectionAgeGrace: maxConnAgeGrace}),
		grpc.StreamInterceptor(api.EndHealthWatches(n.stopping)),
	)
	weirv1.RegisterLimiterServiceServer(n.grpc, checks)
	weirv1.RegisterQuotaServiceServer(n.grpc, quotas)
	rls.RegisterRateLimitServiceServer(n.grpc, envoy)
	n.health = health.NewServer()
	healthv1.RegisterHealthServer(n.grpc, n.health)
	reflection.Register(n.grpc)
	n.setHealth(healthv1.HealthCheckResponse_NOT_SERVING)

	n.serve("gRPC", func() error { return n.grpc.Serve(lis) })
}

// closeGRPC lets calls finish; what is still open when the context ends is cut
// off, which is the caller's loss and no failure of the node's.
func (n *Node) closeGRPC(ctx context.Context) {
	done := make(chan struct{})
	go func() { n.grpc.GracefulStop(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		n.log.Warn("gRPC calls that did not end were cut off", "waited_at_most", doorBudget)
		n.grpc.Stop()
		<-done
	}
}

// setHealth sets the status of every service and of the server as a whole.
func (n *Node) setHealth(s healthv1.HealthCheckResponse_ServingStatus) {
	for name := range n.grpc.GetServiceInfo() {
		n.health.SetServingStatus(name, s)
	}
	n.health.SetServingStatus("", s)
}

func (n *Node) serveHTTP(lis net.Listener, checks *api.Limiter, quotas *api.QuotaService) {
	routes := &api.HTTP{
		Limiter: checks, Quotas: quotas,
		Node: n.describe, Ready: n.NotReady,
		Metrics:   promhttp.HandlerFor(n.registry, promhttp.HandlerOpts{}),
		Dashboard: dashboard.Handler(),
	}
	n.http = &http.Server{
		Handler:           routes.Handler(),
		ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
	}
	n.serve("HTTP", func() error { return n.http.Serve(lis) })
}

// closeHTTP does the same as closeGRPC.
func (n *Node) closeHTTP(ctx context.Context) error {
	err := n.http.Shutdown(ctx)
	if ctx.Err() == nil {
		return err
	}
	n.log.Warn("HTTP responses that nobody read to the end were cut off", "waited_at_most", doorBudget)
	return n.http.Close()
}

// serve runs a door until it is closed; a door that breaks ends the node.
func (n *Node) serve(door string, run func() error) {
	go func() {
		if err := run(); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, grpc.ErrServerStopped) {
			n.fail(fmt.Errorf("%s door: %w", door, err))
		}
	}()
}

func (n *Node) fail(err error) {
	select {
	case n.failed <- err:
	default: // the first reason is the one to tell
	}
}
