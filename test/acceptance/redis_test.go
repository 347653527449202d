package acceptance

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisServer is a real redis-server that keeps nothing on disk: once ended, it
// starts again empty at the same address.
type redisServer struct {
	ip      string
	dir     string
	process *process // nil until started
}

// newRedis is a server that was not started yet.
func newRedis(t *testing.T) *redisServer {
	t.Helper()
	return &redisServer{ip: newIP(), dir: t.TempDir()}
}

// startRedis starts a server and waits for it.
func startRedis(t *testing.T) *redisServer {
	t.Helper()
	r := newRedis(t)
	r.start(t)
	return r
}

func (r *redisServer) addr() string { return fmt.Sprintf("%s:%d", r.ip, redisPort) }

func (r *redisServer) url() string { return "redis://" + r.addr() + "/0" }

func (r *redisServer) start(t *testing.T) {
	t.Helper()
	r.process = launch(t, "redis-server "+r.ip, r.dir, nil, "redis-server",
		"--bind", r.ip, "--port", fmt.Sprint(redisPort), "--save", "", "--appendonly", "no",
		"--protected-mode", "no", "--dir", r.dir)
	client := redis.NewClient(&redis.Options{Addr: r.addr(), MaxRetries: -1})
	defer client.Close()
	eventually(t, 10*time.Second, "redis-server answers", func(ctx context.Context) error {
		return client.Ping(ctx).Err()
	})
}

// kill is kill -9: everything in it is lost.
func (r *redisServer) kill() { r.process.kill() }

// freeze stops the server from answering; its connections stay open.
func (r *redisServer) freeze(t *testing.T) { t.Helper(); r.process.signal(t, syscall.SIGSTOP) }

func (r *redisServer) thaw(t *testing.T) { t.Helper(); r.process.signal(t, syscall.SIGCONT) }

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
