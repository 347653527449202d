package region

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"weir/limiter/store/storetest"
	weirv1 "weir/proto/weir/v1"
	"weir/region/config"
)

// unsaved changes a configuration so that only the last snapshot saves.
func unsaved(path string) func(*config.Config) {
	return func(cfg *config.Config) { cfg.Snapshot, cfg.SnapshotInterval = path, time.Hour }
}

func checkOnce(t *testing.T, n *Node, k string) {
	t.Helper()
	out, err := weirv1.NewLimiterServiceClient(dial(t, n)).Check(t.Context(), &weirv1.CheckRequest{Attributes: key(k)})
	if err != nil || !out.Allowed {
		t.Fatalf("got %v, %v", out, err)
	}
}

func used(t *testing.T, n *Node, k string) int64 {
	t.Helper()
	out, err := weirv1.NewQuotaServiceClient(dial(t, n)).GetQuota(t.Context(), &weirv1.GetQuotaRequest{Rule: "daily", Key: k})
	if err != nil {
		t.Fatal(err)
	}
	return out.Quota.Used
}

// linger opens a stream that ends only when it is cut off.
func linger(t *testing.T, n *Node) {
	t.Helper()
	stream, err := reflectionv1.NewServerReflectionClient(dial(t, n)).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := &reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}
	if err := stream.Send(ask); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
}

func TestAHealthWatchDoesNotHoldUpAStop(t *testing.T) {
	n := startNode(t, "eu", nil)
	watch, err := healthv1.NewHealthClient(dial(t, n)).Watch(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := watch.Recv(); err != nil || out.Status != healthv1.HealthCheckResponse_SERVING {
		t.Fatalf("got %v, %v", out, err)
	}
	began := time.Now()
	stopNode(t, n)
	if took := time.Since(began); took >= doorBudget {
		t.Errorf("the stop took %v", took)
	}
	if out, err := watch.Recv(); err != nil || out.Status != healthv1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("the watcher was told %v, %v", out, err)
	}
	if _, err := watch.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("the watch ended with %v", err)
	}
}

// A stream that does not end, a response that nobody reads, or no time at all:
// the last snapshot is written.
func TestTheLastSnapshotIsWrittenWhateverLingers(t *testing.T) {
	t.Run("a stream", func(t *testing.T) {
		stopAndRestart(t, linger, context.Background())
	})
	t.Run("a response", func(t *testing.T) {
		stopAndRestart(t, unread, context.Background())
	})
	t.Run("no time", func(t *testing.T) {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		stopAndRestart(t, linger, ended)
	})
}

// unread asks for metrics over and over and reads nothing, until the system's
// buffers are full.
func unread(t *testing.T, n *Node) {
	t.Helper()
	conn, err := net.Dial("tcp", n.HTTPAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	ask := []byte(strings.Repeat("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 1000))
	for err == nil {
		_, err = conn.Write(ask) // until the node, which waits for us, reads no more
	}
}

func stopAndRestart(t *testing.T, hold func(*testing.T, *Node), ctx context.Context) { //nolint:revive // as a table's row
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	n := startNode(t, "eu", unsaved(path))
	checkOnce(t, n, "a")
	hold(t, n)
	if err := n.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
	if got := used(t, startNode(t, "eu", unsaved(path)), "a"); got != 1 {
		t.Errorf("after the restart %d are used, want 1", got)
	}
}

// A step that never ends keeps none from running.
func TestACleanupThatNeverEnds(t *testing.T) {
	ran, forever := false, make(chan struct{})
	defer close(forever)
	c := cleanups{log: quietLog}
	c.add("last", time.Second, func(ctx context.Context) error { ran = ctx.Err() == nil; return nil })
	c.add("stuck", time.Millisecond, func(context.Context) error { <-forever; return nil })
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.run(ended); err == nil || !strings.Contains(err.Error(), "stuck: not done within 1ms") || !ran {
		t.Errorf("ran the last: %v, said %v", ran, err)
	}
}

// A node that drains before it was ready does not become ready on its way out.
func TestADrainingNodeDoesNotBecomeReady(t *testing.T) {
	server := storetest.StartServer(t)
	server.Kill()
	n := beginNode(t, "eu", func(cfg *config.Config) { cfg.Store = server.URL })
	linger(t, n)
	stopped := make(chan error, 1)
	go func() { stopped <- n.Stop(context.Background()) }()
	<-n.stopping
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-n.Ready():
		t.Error("it became ready")
	case err := <-stopped:
		if err != nil {
			t.Error(err)
		}
	}
	if why := n.NotReady(); why == nil || why.Error() != "draining" {
		t.Errorf("it waits for %v", why)
	}
	if _, err := http.Get("http://" + n.HTTPAddr().String() + "/livez"); err == nil {
		t.Error("its door is open")
	}
}
