package redis

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"weir/limiter/store/storetest"
)

// gate is a TCP proxy that can swallow or hold what should pass, or break off.
type gate struct {
	listener net.Listener
	target   string
	stuck    atomic.Bool // nothing passes
	deaf     atomic.Bool // no reply passes
	work     sync.WaitGroup

	mu    sync.Mutex
	conns map[*passage]struct{}
	ended bool
}

// passage is one connection through the gate.
type passage struct {
	client, server net.Conn
	held           atomic.Pointer[chan struct{}] // requests wait until it is closed; nil: they pass
}

func (p *passage) close() {
	_ = p.client.Close()
	_ = p.server.Close()
}

func newGate(t *testing.T, server *storetest.Server) *gate {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{listener: l, target: server.Addr, conns: make(map[*passage]struct{})}
	g.work.Go(g.accept)
	t.Cleanup(func() {
		_ = l.Close()
		g.mu.Lock()
		g.ended = true
		g.mu.Unlock()
		g.breakOff()
		g.work.Wait()
	})
	return g
}

// url is where a store reaches the server through the gate.
func (g *gate) url() string { return "redis://" + g.listener.Addr().String() }

func (g *gate) accept() {
	for {
		c, err := g.listener.Accept()
		if err != nil {
			return
		}
		g.work.Go(func() { g.serve(c) })
	}
}

func (g *gate) serve(c net.Conn) {
	up, err := net.Dial("tcp", g.target)
	if err != nil {
		_ = c.Close()
		return
	}
	p := &passage{client: c, server: up}
	defer p.close()
	g.mu.Lock()
	ended := g.ended
	if !ended {
		g.conns[p] = struct{}{}
	}
	g.mu.Unlock()
	if ended {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { g.pass(up, c, p, func() bool { return g.stuck.Load() }) })
	both.Go(func() { g.pass(c, up, nil, func() bool { return g.stuck.Load() || g.deaf.Load() }) })
	both.Wait()
	g.mu.Lock()
	delete(g.conns, p)
	g.mu.Unlock()
}

// breakOff closes every connection.
func (g *gate) breakOff() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := range g.conns {
		p.close()
	}
}

// hold makes requests on the connections there are now wait for release, which
// lets them through even if their sender is gone. New connections pass.
func (g *gate) hold() (release func()) {
	held := make(chan struct{})
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := range g.conns {
		p.held.Store(&held)
	}
	return func() { close(held) }
}

// pass copies until either end closes, and throws away what comes while it is
// lost, as a path that loses every packet does.
func (g *gate) pass(to, from net.Conn, p *passage, lost func() bool) {
	defer func() { _ = to.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if p != nil {
			if held := p.held.Load(); held != nil {
				<-*held
			}
		}
		if n > 0 && !lost() {
			if _, werr := to.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// census counts connections from the moment they are dialled until they are
// closed.
type census struct{ now, most atomic.Int64 }

func (c *census) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	now := c.now.Add(1)
	for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		c.now.Add(-1)
		return nil, err
	}
	return &counted{Conn: conn, census: c}, nil
}

type counted struct {
	net.Conn
	census *census
	once   sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { c.census.now.Add(-1) })
	return c.Conn.Close()
}
