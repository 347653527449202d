package acceptance

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	weirv1 "weir/proto/weir/v1"
)

const outageRules = `
rules:
  - name: calls
    count_by: [client]
    quota: 1000/day
  - name: pace
    count_by: [user]
    limit: 100/s
`

// A check's budget is 50 ms, store or no store. On a busy machine a few take
// longer through no fault of the node.
const (
	answerBound = 200 * time.Millisecond
	lateBound   = 2 * time.Second
	lateShare   = 10 // one in so many may pass answerBound
)

// A node whose Redis is down says so, once, and serves when it comes.
func TestRedisDownAtStart(t *testing.T) {
	server := newRedis(t)
	n := newNode(t, "eu-west", "eu-west-1", server.url(), outageRules)
	n.start(t)
	c := dial(t, n)
	eventually(t, 5*time.Second, "the node is alive", func(ctx context.Context) error {
		code, body, err := get(ctx, "http://"+n.httpAddr()+"/livez")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("%d %s", code, body)
		}
		return err
	})
	staysUnready(t, n, c, 3*time.Second)
	said := n.process.stderr.lines(server.addr())
	if len(said) == 0 || len(said) > 3 {
		t.Errorf("standard error speaks of the store in %d lines, want it said once: %q", len(said), said)
	}
	if all := n.process.stderr.lines(""); len(all) > 20 {
		t.Errorf("standard error has %d lines after 3 s of waiting", len(all))
	}

	began := time.Now()
	server.start(t)
	eventually(t, 5*time.Second, "the node serves once Redis is there", func(ctx context.Context) error {
		return serves(ctx, n, c)
	})
	t.Logf("served %d ms after Redis was started", time.Since(began).Milliseconds())
	if out := c.check(t, 1, map[string]string{"client": "a"}); !out.Allowed {
		t.Errorf("denied: %v", out)
	}
}

// staysUnready asks at every door for so long: alive, not ready and why.
func staysUnready(t *testing.T, n *node, c *client, length time.Duration) {
	t.Helper()
	for began := time.Now(); time.Since(began) < length; pause(t, 50*time.Millisecond) {
		if code, _, err := get(t.Context(), "http://"+n.httpAddr()+"/livez"); err != nil || code != http.StatusOK {
			t.Fatalf("/livez: %d, %v", code, err)
		}
		code, body, err := get(t.Context(), "http://"+n.httpAddr()+"/readyz")
		starting := time.Since(began) < time.Second && !strings.Contains(body, "store")
		if err != nil || code != http.StatusServiceUnavailable || !strings.Contains(body, "store") && !starting {
			t.Fatalf("/readyz: %d %q, %v; want 503 that names the store", code, body, err)
		}
		health, err := c.health.Check(t.Context(), &healthv1.HealthCheckRequest{Service: "weir.v1.LimiterService"})
		if err != nil || health.Status != healthv1.HealthCheckResponse_NOT_SERVING {
			t.Fatalf("health is %v, %v; want NOT_SERVING", health, err)
		}
		_, err = c.Check(t.Context(), &weirv1.CheckRequest{Attributes: map[string]string{"client": "a"}})
		if status.Code(err) != codes.Unavailable {
			t.Fatalf("check: %v; want UNAVAILABLE", err)
		}
	}
}

// serves says whether every door says that the node serves.
func serves(ctx context.Context, n *node, c *client) error {
	if code, body, err := get(ctx, "http://"+n.httpAddr()+"/readyz"); err != nil || code != http.StatusOK {
		return fmt.Errorf("/readyz: %d %s %w", code, body, err)
	}
	for _, service := range []string{"", "weir.v1.LimiterService", "weir.v1.QuotaService", "envoy.service.ratelimit.v3.RateLimitService"} {
		out, err := c.health.Check(ctx, &healthv1.HealthCheckRequest{Service: service})
		if err != nil || out.Status != healthv1.HealthCheckResponse_SERVING {
			return fmt.Errorf("health of %q: %v %w", service, out, err)
		}
	}
	return nil
}

// outage is a way for Redis to be away, and back.
type outage struct {
	name        string
	begin, stop func(*testing.T, *redisServer)
}

var outages = []outage{
	// Everything in it is lost.
	{"killed", func(_ *testing.T, r *redisServer) { r.kill() }, func(t *testing.T, r *redisServer) { r.start(t) }},
	// It still takes connections and says nothing; then it answers late.
	{"frozen", func(t *testing.T, r *redisServer) { r.freeze(t) }, func(t *testing.T, r *redisServer) { r.thaw(t) }},
}

// While Redis is away, every check that no lease covers is denied in time and says
// why; when it is back, the quota goes on from what was counted.
func TestRedisAway(t *testing.T) {
	for _, o := range outages {
		t.Run(o.name, func(t *testing.T) {
			awayFromMidnight(t, time.Minute)
			server := startRedis(t)
			n := startNode(t, server.url(), outageRules)
			clients := dialMany(t, n, 4)
			known := newTally()
			for range 300 {
				askKnown(t, known, clients[0])
			}
			if acknowledged, _ := known.total(); acknowledged < 200 {
				t.Fatalf("only %d of 300 acknowledged", acknowledged)
			}

			for range rounds() {
				o.begin(t, server)
				deniedInTime(t, clients, known)
				o.stop(t, server)
				began := time.Now()
				eventually(t, 5*time.Second, "checks are allowed again", func(context.Context) error {
					if out := askKnown(t, known, clients[0]); !out.Allowed {
						return fmt.Errorf("denied with %v", out.Reason)
					}
					return nil
				})
				t.Logf("allowed again %d ms after Redis was back", time.Since(began).Milliseconds())
				settled(t, 5*time.Second, []*node{n}, known)
			}
			exhaust(t, clients[0], n, known)
			inTime(t, known.durations)
		})
	}
}

// askKnown makes one call and checks what every answer must be, whatever the
// store does: an answer, in time, with a reason.
func askKnown(t *testing.T, known *tally, c *client) *weirv1.CheckResponse {
	t.Helper()
	known.begin("one")
	asked := time.Now()
	out, err := c.Check(t.Context(), &weirv1.CheckRequest{Attributes: map[string]string{"client": "one"}})
	known.took(time.Since(asked))
	known.end("one", out, err)
	if err != nil {
		t.Errorf("an error instead of an answer: %v", err)
		return new(weirv1.CheckResponse)
	}
	if !out.Allowed && out.Reason == weirv1.Reason_REASON_STORE_UNAVAILABLE &&
		(out.DecidedBy != weirv1.DecidedBy_DECIDED_BY_CLOSED || out.RetryAfterUs <= 0 || out.Rule != "calls") {
		t.Errorf("denied without the store, but says %v", out)
	}
	return out
}

// inTime says whether all were answered, and nearly all within the bound.
func inTime(t *testing.T, durations []time.Duration) {
	t.Helper()
	slices.Sort(durations)
	late, longest := 0, durations[len(durations)-1]
	for _, d := range durations {
		if d > answerBound {
			late++
		}
	}
	if late*lateShare > len(durations) || longest > lateBound {
		t.Errorf("%d of %d checks took over %v, the longest %v", late, len(durations), answerBound, longest)
	}
	t.Logf("%d checks took %v in the middle, %v at most", len(durations), durations[len(durations)/2], longest)
}

// deniedInTime asks one after the other and all at once while Redis is away: what
// the node had leased is allowed, at most a hundredth of the quota, and no more.
func deniedInTime(t *testing.T, clients []*client, known *tally) {
	t.Helper()
	var leased atomic.Int64
	deny := func(c *client) {
		out := askKnown(t, known, c)
		switch {
		case out.Allowed && out.DecidedBy == weirv1.DecidedBy_DECIDED_BY_LEASE:
			leased.Add(1)
		case out.Allowed || out.Reason != weirv1.Reason_REASON_STORE_UNAVAILABLE:
			t.Errorf("without a store: %v", out)
		}
	}
	defer func() {
		if n := leased.Load(); n > 10 {
			t.Errorf("%d were allowed without a store, a lease is at most 10", n)
		}
	}()
	for range 10 {
		deny(clients[0])
	}
	var calls sync.WaitGroup
	for i := range 40 {
		calls.Go(func() { deny(clients[i%len(clients)]) })
	}
	calls.Wait()
	out, err := clients[0].Check(t.Context(), &weirv1.CheckRequest{Attributes: map[string]string{"user": "u"}})
	if err != nil || out.Allowed || out.Reason != weirv1.Reason_REASON_STORE_UNAVAILABLE {
		t.Errorf("a bucket without a store: %v, %v", out, err)
	}
}

// exhaust uses the rest of the quota: nothing that was acknowledged was
// forgotten, so all together is no more than the quota, and no less than it
// but for what was never settled.
func exhaust(t *testing.T, c *client, n *node, known *tally) {
	t.Helper()
	const quota = 1000
	for {
		out := askKnown(t, known, c)
		if out.Reason == weirv1.Reason_REASON_QUOTA_EXHAUSTED {
			break
		}
		acknowledged, unsettled := known.total()
		if acknowledged > quota || unsettled > quota {
			t.Fatalf("%d acknowledged and %d unsettled, and still: %v", acknowledged, unsettled, out)
		}
	}
	known.mu.Lock()
	acknowledged, unsettled := known.acknowledged["one"], known.unavailable["one"]
	known.mu.Unlock()
	if acknowledged > quota || acknowledged+unsettled < quota {
		t.Errorf("%d acknowledged and %d unsettled of a quota of %d", acknowledged, unsettled, quota)
	}
	got, err := dial(t, n).counts(t.Context())
	if err != nil || got["one"] != quota {
		t.Errorf("%d counted (%v), want the quota of %d", got["one"], err, quota)
	}
	t.Logf("%d acknowledged and %d counted without an answer, of %d", acknowledged, quota-acknowledged, quota)
}
