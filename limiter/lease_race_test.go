package limiter

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestLeasesUnderLoad: checks from many goroutines while leases are taken,
// exchanged, evicted and returned; then the store counts what was allowed.
func TestLeasesUnderLoad(t *testing.T) {
	r := newLeaseRegion(t, 2, LeaseOptions{HotChecks: 5, Rows: 2})
	var a, b, o atomic.Int64
	for _, n := range r.nodes {
		a.Add(r.heat(n, "a")) // so that there is a lease to begin with
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var work, checks sync.WaitGroup
	for _, n := range r.nodes {
		work.Go(func() { n.leases.Run(ctx) })
	}
	work.Go(func() {
		for ctx.Err() == nil {
			for _, n := range r.nodes {
				n.leases.sweep(ctx)
			}
		}
	})
	for i := range 6 {
		n := r.nodes[i%2]
		checks.Go(func() {
			for step := range 1500 {
				r.pass(200 * time.Microsecond)
				switch (step / 150) % 3 {
				case 0:
					a.Add(allowedUnits(n.check(1, "user", "a"), 1))
				case 1:
					b.Add(allowedUnits(n.check(2, "user", "b"), 2))
				case 2:
					both := allowedUnits(n.check(1, "user", "a", "org", "o"), 1)
					a.Add(both)
					o.Add(both)
				}
			}
		})
	}
	checks.Wait()
	stop()
	work.Wait()
	decided := uint64(0)
	for _, n := range r.nodes {
		if err := n.leases.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
		decided += n.leases.Decided()
	}
	if decided == 0 {
		t.Error("no check was decided from a lease")
	}
	for key, allowed := range map[string]int64{"a": a.Load(), "b": b.Load()} {
		if got := r.net("daily", key); got != allowed || got > 10_000 {
			t.Errorf("%s: the store counts %d, %d were allowed", key, got, allowed)
		}
	}
	if got := r.net("org", "o"); got != o.Load() {
		t.Errorf("o: the store counts %d, %d were allowed", got, o.Load())
	}
	t.Logf("%d of 9000 checks were decided from leases", decided)
}

func allowedUnits(d Decision, cost int64) int64 {
	if d.Allowed {
		return cost
	}
	return 0
}
