package redis

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/limiter/store"
	"weir/limiter/store/storetest"
)

func TestScenarios(t *testing.T) {
	s := openStore(t, Options{URL: shared.URL})
	storetest.Run(t, subject(t, s, plainClient(t, shared)))
}

func TestUnixSocket(t *testing.T) {
	s := openStore(t, Options{URL: "unix://" + shared.Socket()})
	c := store.Call{Buckets: []store.BucketTake{storetest.NewBucket(storetest.MustRate(1, time.Second, 1), 1)}}
	storetest.Decide(t, s, &c, store.Allowed)
}

func TestOptionsAreChecked(t *testing.T) {
	for in, want := range map[string]string{
		"redis+sentinel://a:1,b:2/mymaster": "not implemented",
		"redis+cluster://a:1":               "not implemented",
		"http://localhost":                  "unknown kind",
		"localhost:6379":                    "redis://HOST:PORT/DB",
		"redis://localhost/notanumber":      "redis://HOST:PORT/DB",
		"redis://x?max_retries=3":           "not implemented",
		"redis://:s3cret@local host":        "redis://HOST:PORT/DB",
	} {
		_, err := New(Options{URL: in})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
	for _, o := range []Options{{Pool: 51}, {Pool: -1}, {Budget: -1}} {
		o.URL = shared.URL
		if _, err := New(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	if o, err := parseURL("rediss://user:pw@redis.example:6380/2"); err != nil || o.TLSConfig == nil || o.DB != 2 || o.Username != "user" {
		t.Errorf("rediss: %+v, %v", o, err)
	}
}

// logLines collects what is logged.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *logLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(b))
	return len(b), nil
}

// count is how many lines hold the text.
func (l *logLines) count(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func (l *logLines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// TestStartsBeforeTheServer: the store is made while Redis is away, says so
// once, and decides when it comes.
func TestStartsBeforeTheServer(t *testing.T) {
	server := storetest.StartServer(t)
	server.Kill()
	var log logLines
	s := newStore(t, Options{URL: server.URL, Log: log.logger()})
	if err := s.Ready(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("ready without a server: %v", err)
	}
	b := storetest.NewBucket(storetest.MustRate(1, time.Hour, 1), 1)
	for range 100 {
		c := store.Call{Buckets: []store.BucketTake{b}}
		storetest.Decide(t, s, &c, store.Failed)
		if !errors.Is(c.Err, store.ErrUnavailable) {
			t.Fatal(c.Err)
		}
	}
	if err := s.Rows(t.Context(), func([]store.Row) error { return nil }); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("rows without a server: %v", err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	waitReady(t, s)
	c := store.Call{Buckets: []store.BucketTake{b}}
	storetest.Decide(t, s, &c, store.Allowed)
	server.Kill()
	eventually(t, func() error {
		if s.Ready(t.Context()) == nil {
			return errors.New("still ready")
		}
		return nil
	})
	if log.count("redis unreachable") != 2 || log.count("msg=\"redis reached\"") != 1 {
		t.Errorf("want one line for each change:\n%s", strings.Join(log.lines, ""))
	}
	if s.Health().Reached {
		t.Error("health says reached")
	}
}

func TestClosed(t *testing.T) {
	s := openStore(t, Options{URL: shared.URL})
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	c := store.Call{Buckets: []store.BucketTake{storetest.NewBucket(storetest.MustRate(1, time.Hour, 1), 1)}}
	storetest.Decide(t, s, &c, store.Failed)
	if err := s.Ready(t.Context()); err == nil {
		t.Error("ready after Close")
	}
}

func TestEvictionIsSaidLoudly(t *testing.T) {
	server := storetest.StartServer(t, "--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru")
	var log logLines
	s := openStore(t, Options{URL: server.URL, Log: log.logger()})
	eventually(t, func() error {
		if h := s.Health(); !h.Evicts || h.Policy != "volatile-lru" || h.MaxMemory != 100<<20 || !h.Reached || len(h.RunID) != 40 {
			return errors.New("health does not say so")
		}
		return nil
	})
	c := plainClient(t, server)
	if err := c.ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if s.Health().Evicts {
			return errors.New("health does not notice the change")
		}
		return nil
	})
	if log.count("level=WARN msg=\"redis evicts") != 1 || log.count("no longer evicts") != 1 {
		t.Errorf("logged:\n%s", strings.Join(log.lines, ""))
	}
}

// TestFullMemoryRefuses: under noeviction a full server refuses a call before
// its first write; nothing is charged by halves.
func TestFullMemoryRefuses(t *testing.T) {
	server := storetest.StartServer(t)
	var log logLines
	s := openStore(t, Options{URL: server.URL, Log: log.logger()})
	plain := plainClient(t, server)
	q := storetest.NewQuota(subject(t, s, plain), 10, 1)
	b := storetest.NewBucket(storetest.MustRate(1, time.Hour, 10), 1)
	c := store.Call{Buckets: []store.BucketTake{b}, Quotas: []store.QuotaTake{q}}
	storetest.Decide(t, s, &c, store.Allowed)
	if err := plain.ConfigSet(t.Context(), "maxmemory", "1mb").Err(); err != nil {
		t.Fatal(err)
	}
	c.Quotas[0].Reign = 0
	storetest.Decide(t, s, &c, store.Failed)
	if !errors.Is(c.Err, store.ErrUnavailable) || !strings.Contains(c.Err.Error(), "OOM") {
		t.Errorf("error: %v", c.Err)
	}
	if err := plain.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	storetest.Decide(t, s, &c, store.Allowed)
	if got := c.Quotas[0].RegionNet; got != 2 {
		t.Errorf("%d taken, want 2", got)
	}
	if got := b.Rate.Remaining(c.Buckets[0].State, c.NowUs); got != 8 {
		t.Errorf("%d left, want 8", got)
	}
	if log.count("redis refuses calls") != 1 || log.count("redis takes calls again") != 1 {
		t.Errorf("logged:\n%s", strings.Join(log.lines, ""))
	}
}

// TestAnotherRegionsServerIsRefused: what is there would be taken for counts of
// the own region.
func TestAnotherRegionsServerIsRefused(t *testing.T) {
	server := storetest.StartServer(t)
	openStore(t, Options{URL: server.URL, Region: "us-east"})
	s, err := New(Options{URL: server.URL, Region: "eu-west", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	eventually(t, func() error {
		err := s.Ready(t.Context())
		if err == nil || !strings.Contains(err.Error(), "us-east") {
			return fmt.Errorf("Ready says %w", err)
		}
		return nil
	})
	if err := s.Rows(t.Context(), func([]store.Row) error { return nil }); err == nil {
		t.Error("its rows were read")
	}
}

func TestObserve(t *testing.T) {
	var mu sync.Mutex
	good, bad := 0, 0
	server := storetest.StartServer(t)
	s := openStore(t, Options{URL: server.URL, Observe: func(d time.Duration, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			bad++
		} else if d > 0 {
			good++
		}
	}})
	b := storetest.NewBucket(storetest.MustRate(1, time.Hour, 10), 1)
	calls := make([]*store.Call, 3)
	for i := range calls {
		calls[i] = &store.Call{Buckets: []store.BucketTake{b}}
	}
	s.Decide(t.Context(), calls[:1]) // the script is there since the reign was opened
	s.Decide(t.Context(), calls)
	server.Kill()
	s.Decide(t.Context(), calls)
	mu.Lock()
	defer mu.Unlock()
	if good != 2 || bad != 1 {
		t.Errorf("%d good and %d bad round trips, want 2 and 1", good, bad)
	}
}
