package acceptance

import (
	"context"
	"fmt"
	"testing"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	weirv1 "weir/proto/weir/v1"
)

// client speaks to one node over one connection.
type client struct {
	weirv1.LimiterServiceClient
	quotas weirv1.QuotaServiceClient
	envoy  rls.RateLimitServiceClient
	health healthv1.HealthClient
}

// dial is a new connection, which ends with the test.
func dial(t *testing.T, n *node) *client {
	t.Helper()
	return dialTarget(t, n.grpcAddr())
}

func dialTarget(t *testing.T, target string, opts ...grpc.DialOption) *client {
	t.Helper()
	conn, err := grpc.NewClient(target, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &client{
		LimiterServiceClient: weirv1.NewLimiterServiceClient(conn),
		quotas:               weirv1.NewQuotaServiceClient(conn),
		envoy:                rls.NewRateLimitServiceClient(conn),
		health:               healthv1.NewHealthClient(conn),
	}
}

// dialMany is several connections to one node.
func dialMany(t *testing.T, n *node, count int) (out []*client) {
	t.Helper()
	for range count {
		out = append(out, dial(t, n))
	}
	return out
}

// check asks for cost units; an error fails the test.
func (c *client) check(t *testing.T, cost uint64, attributes map[string]string) *weirv1.CheckResponse {
	t.Helper()
	out, err := c.Check(t.Context(), &weirv1.CheckRequest{Attributes: attributes, Cost: &cost})
	if err != nil {
		t.Fatalf("check of %v: %v", attributes, err)
	}
	return out
}

// pageSize makes listings take several pages.
const pageSize = 200

// counts is what the node reports used of every quota, by key.
func (c *client) counts(ctx context.Context) (map[string]int64, error) {
	out := make(map[string]int64)
	in := &weirv1.ListQuotasRequest{PageSize: pageSize}
	for {
		page, err := c.quotas.ListQuotas(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, q := range page.Quotas {
			if sum := takenByAll(q); sum != q.Used {
				return nil, fmt.Errorf("%s %s: used %d, but its regions took %d", q.Rule, q.Key, q.Used, sum)
			}
			out[q.Key] += q.Used
		}
		if page.NextPageToken == "" {
			return out, nil
		}
		in.PageToken = page.NextPageToken
	}
}

func takenByAll(q *weirv1.Quota) (sum int64) {
	for _, r := range q.ByRegion {
		sum += r.Taken - r.GivenBack
	}
	return sum
}
