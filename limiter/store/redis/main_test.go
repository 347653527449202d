package redis

import (
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"weir/limiter/store/storetest"
)

// shared is the server of the tests that need none of their own.
var shared *storetest.Server

func TestMain(m *testing.M) {
	code, err := withServer(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

func withServer(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "weir-redis-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if shared, err = storetest.NewServer(dir); err != nil {
		return 0, err
	}
	defer shared.Kill()
	return m.Run(), nil
}

// openStore returns a store in that server, ready.
func openStore(tb testing.TB, o Options) *Store {
	tb.Helper()
	s := newStore(tb, o)
	waitReady(tb, s)
	return s
}

// newStore returns a store that may not be ready. Its budget is generous where
// none is given: tests share the machine.
func newStore(tb testing.TB, o Options) *Store {
	tb.Helper()
	if o.Budget == 0 {
		o.Budget = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

func waitReady(tb testing.TB, s *Store) {
	tb.Helper()
	eventually(tb, func() error { return s.Ready(tb.Context()) })
}

// eventually fails the test unless the condition holds within 10 s.
func eventually(tb testing.TB, holds func() error) {
	tb.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		err := holds()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// plainClient is a client beside the store.
func plainClient(tb testing.TB, server *storetest.Server) *redis.Client {
	tb.Helper()
	c := redis.NewClient(controlOptions(redis.Options{Addr: server.Addr}))
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// subject is the store and its server's clock.
func subject(tb testing.TB, s *Store, c *redis.Client) storetest.Subject {
	now := func() int64 {
		t, err := c.Time(tb.Context()).Result()
		if err != nil {
			tb.Fatal(err)
		}
		return t.UnixMicro()
	}
	until := func(us int64) {
		for left := us - now(); left > 0; left = us - now() {
			time.Sleep(time.Duration(left) * time.Microsecond)
		}
	}
	return storetest.Subject{Store: s, Now: now, Until: until}
}
