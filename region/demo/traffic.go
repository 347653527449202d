package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	weirv1 "weir/proto/weir/v1"
)

// traffic is the generated load on one region: a few busy clients, a long tail,
// mostly reads; each region prefers clients of its own.
type traffic struct {
	client    weirv1.LimiterServiceClient
	random    *rand.Rand
	home      int // number of the region
	perSecond int

	allowed, denied, failed atomic.Int64
}

// Clients of the generated traffic, by their tenant.
const (
	freeClients    = 30
	partnerClients = 4
)

// run sends batches, ten a second, until the context ends.
func (t *traffic) run(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		t.send(ctx)
	}
}

func (t *traffic) send(ctx context.Context) {
	in := &weirv1.CheckBatchRequest{Checks: make([]*weirv1.CheckRequest, max(1, t.perSecond/10))}
	for i := range in.Checks {
		in.Checks[i] = &weirv1.CheckRequest{Attributes: t.attributes()}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	out, err := t.client.CheckBatch(ctx, in)
	if err != nil {
		t.failed.Add(int64(len(in.Checks)))
		return
	}
	for _, c := range out.Checks {
		if c.Allowed {
			t.allowed.Add(1)
		} else {
			t.denied.Add(1)
		}
	}
}

func (t *traffic) attributes() map[string]string {
	attrs := map[string]string{"method": "GET", "path": "/v1/charges", "tenant": "free"}
	if t.random.IntN(4) == 0 {
		attrs["method"] = "POST"
	}
	if t.random.IntN(10) == 0 {
		attrs["tenant"] = "partner"
		attrs["api_key"] = fmt.Sprintf("ptn_%02d", t.random.IntN(partnerClients))
		return attrs
	}
	// The square of a uniform number makes low numbers common; the shift makes
	// another client common in each region.
	u := t.random.Float64()
	n := (int(u*u*freeClients) + t.home*freeClients/3) % freeClients
	attrs["api_key"] = fmt.Sprintf("sk_demo_%02d", n)
	return attrs
}
