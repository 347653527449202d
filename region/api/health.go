package api

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// EndHealthWatches ends watches of the health service once stopping is closed
// and they have been told that the node serves no more. By itself the service
// leaves them open, and a server that waits for its streams waits for ever.
func EndHealthWatches(stopping <-chan struct{}) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if info.FullMethod != healthv1.Health_Watch_FullMethodName {
			return handle(srv, stream)
		}
		ctx, cancel := context.WithCancel(stream.Context())
		defer cancel()
		w := &healthWatch{ServerStream: stream, ctx: ctx, cancel: cancel}
		go w.endWith(stopping)
		err := handle(srv, w)
		if isClosed(stopping) {
			return status.Error(codes.Unavailable, "this node is draining; watch another")
		}
		return err
	}
}

// healthWatch is a stream that ends once the node drains and the watcher knows.
type healthWatch struct {
	grpc.ServerStream
	ctx    context.Context
	cancel context.CancelFunc

	mu       sync.Mutex
	draining bool
	told     bool // of anything but SERVING
}

// Context implements grpc.ServerStream.
func (w *healthWatch) Context() context.Context { return w.ctx }

// SendMsg implements grpc.ServerStream.
func (w *healthWatch) SendMsg(m any) error {
	if err := w.ServerStream.SendMsg(m); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if health, ok := m.(*healthv1.HealthCheckResponse); ok {
		w.told = health.Status != healthv1.HealthCheckResponse_SERVING
	}
	w.endIfTold()
	return nil
}

func (w *healthWatch) endWith(stopping <-chan struct{}) {
	select {
	case <-w.ctx.Done():
		return
	case <-stopping:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.draining = true
	w.endIfTold()
}

// endIfTold ends the watch when there is nothing left to say. The caller holds
// w.mu.
func (w *healthWatch) endIfTold() {
	if w.draining && w.told {
		w.cancel()
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
