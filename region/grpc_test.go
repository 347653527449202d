package region

import (
	"fmt"
	"net"
	"strings"
	"testing"

	rlcommon "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	weirv1 "weir/proto/weir/v1"
)

func dial(t *testing.T, n *Node) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(n.GRPCAddr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func key(k string) map[string]string { return map[string]string{"api_key": k} }

func TestCheckExplains(t *testing.T) {
	client := weirv1.NewLimiterServiceClient(dial(t, startNode(t, "eu", nil)))
	out, err := client.Check(t.Context(), &weirv1.CheckRequest{Attributes: key("a"), Cost: proto.Uint64(200), Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	if !out.Allowed || out.Rule != "burst" || out.Remaining != 300 || out.Limit != 100 || out.Burst != 500 || len(out.Limits) != 2 {
		t.Errorf("got %v", out)
	}
	quota := out.Limits[1]
	if quota.Kind != weirv1.LimitKind_LIMIT_KIND_QUOTA || quota.Key != "a" || quota.Remaining != 800 {
		t.Errorf("got %v", quota)
	}
	out, err = client.Check(t.Context(), &weirv1.CheckRequest{Attributes: key("a"), Cost: proto.Uint64(900)})
	if err != nil || out.Allowed || out.Reason != weirv1.Reason_REASON_COST_EXCEEDS_LIMIT || out.Rule != "burst" {
		t.Errorf("got %v, %v", out, err)
	}
}

func TestBatchAnswersInOrder(t *testing.T) {
	client := weirv1.NewLimiterServiceClient(dial(t, startNode(t, "eu", nil)))
	in := &weirv1.CheckBatchRequest{}
	for i := range 1000 {
		in.Checks = append(in.Checks, &weirv1.CheckRequest{Attributes: key(fmt.Sprint(i % 10)), Cost: proto.Uint64(uint64(i))})
	}
	out, err := client.CheckBatch(t.Context(), in)
	if err != nil || len(out.Checks) != 1000 {
		t.Fatalf("got %d answers, %v", len(out.GetChecks()), err)
	}
	for i, c := range out.Checks {
		if want := i > 500; (c.Reason == weirv1.Reason_REASON_COST_EXCEEDS_LIMIT) != want {
			t.Errorf("answer %d: %v", i, c)
		}
	}
}

func TestBadChecksNameTheField(t *testing.T) {
	client := weirv1.NewLimiterServiceClient(dial(t, startNode(t, "eu", nil)))
	many := map[string]string{}
	for i := range 65 {
		many[fmt.Sprint(i)] = "x"
	}
	for field, in := range map[string]*weirv1.CheckRequest{
		"cost":          {Cost: proto.Uint64(1_000_000_001)},
		"attributes":    {Attributes: many},
		`attributes: a`: {Attributes: map[string]string{"": "x"}},
		`["k"]`:         {Attributes: map[string]string{"k": strings.Repeat("x", 4097)}},
		"name of 129":   {Attributes: map[string]string{strings.Repeat("x", 129): "x"}},
	} {
		_, err := client.Check(t.Context(), in)
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: got %v", field, err)
		}
		_, err = client.CheckBatch(t.Context(), &weirv1.CheckBatchRequest{Checks: []*weirv1.CheckRequest{{}, in}})
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "checks[1].") {
			t.Errorf("%s in a batch: got %v", field, err)
		}
	}
	_, err := client.CheckBatch(t.Context(), &weirv1.CheckBatchRequest{Checks: make([]*weirv1.CheckRequest, 1001)})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("a batch of 1001: got %v", err)
	}
}

func TestQuotasAreListedInPages(t *testing.T) {
	conn := dial(t, startNode(t, "eu", nil))
	checks, quotas := weirv1.NewLimiterServiceClient(conn), weirv1.NewQuotaServiceClient(conn)
	for i := range 25 {
		if _, err := checks.Check(t.Context(), &weirv1.CheckRequest{Attributes: key(fmt.Sprintf("k%02d", i)), Cost: proto.Uint64(uint64(i + 1))}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	in := &weirv1.ListQuotasRequest{PageSize: 10, Order: weirv1.QuotaOrder_QUOTA_ORDER_USED, Search: "k", Rule: "daily"}
	for {
		out, err := quotas.ListQuotas(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if out.Total != 25 || len(out.Regions) != 2 || out.Regions[1].Touch != weirv1.Touch_TOUCH_CUT_OFF || out.Regions[1].StalenessMs != -1 {
			t.Errorf("got %v", out)
		}
		for _, q := range out.Quotas {
			got = append(got, fmt.Sprintf("%s %d", q.Key, q.Used))
		}
		if in.PageToken = out.NextPageToken; in.PageToken == "" {
			break
		}
	}
	if len(got) != 25 || got[0] != "k24 25" || got[24] != "k00 1" {
		t.Errorf("got %v", got)
	}
	one, err := quotas.GetQuota(t.Context(), &weirv1.GetQuotaRequest{Rule: "daily", Key: "k04"})
	if err != nil || one.Quota.Used != 5 || one.Quota.Remaining != 995 || one.Quota.ByRegion[0].Taken != 5 {
		t.Errorf("got %v, %v", one, err)
	}
	if none, err := quotas.GetQuota(t.Context(), &weirv1.GetQuotaRequest{Rule: "daily", Key: "never"}); err != nil || none.Quota.Used != 0 || none.Quota.Limit != 1000 {
		t.Errorf("got %v, %v", none, err)
	}
}

// TestLongKeysAreCounted: a key of any length that a check may carry is counted,
// and found by what the list shows and by itself.
func TestLongKeysAreCounted(t *testing.T) {
	conn := dial(t, startNode(t, "eu", nil))
	long := strings.Repeat("k", 4096)
	if _, err := weirv1.NewLimiterServiceClient(conn).Check(t.Context(), &weirv1.CheckRequest{Attributes: key(long)}); err != nil {
		t.Fatal(err)
	}
	quotas := weirv1.NewQuotaServiceClient(conn)
	list, err := quotas.ListQuotas(t.Context(), &weirv1.ListQuotasRequest{})
	if err != nil || list.Total != 1 {
		t.Fatalf("got %v, %v", list, err)
	}
	for _, k := range []string{long, list.Quotas[0].Key} {
		if got, err := quotas.GetQuota(t.Context(), &weirv1.GetQuotaRequest{Rule: "daily", Key: k}); err != nil || got.Quota.Used != 1 {
			t.Errorf("key of %d bytes: %v, %v", len(k), got, err)
		}
	}
}

func TestBadQuotaRequests(t *testing.T) {
	quotas := weirv1.NewQuotaServiceClient(dial(t, startNode(t, "eu", nil)))
	for in, code := range map[*weirv1.GetQuotaRequest]codes.Code{
		{}:              codes.InvalidArgument,
		{Rule: "none"}:  codes.NotFound,
		{Rule: "burst"}: codes.NotFound,
	} {
		if _, err := quotas.GetQuota(t.Context(), in); status.Code(err) != code {
			t.Errorf("%v: got %v", in, err)
		}
	}
	for _, in := range []*weirv1.ListQuotasRequest{
		{PageSize: -1}, {PageSize: 1001}, {PageToken: "x"}, {PageToken: "-1"}, {Order: 9}, {Search: strings.Repeat("x", 1025)},
	} {
		if _, err := quotas.ListQuotas(t.Context(), in); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%v: got %v", in, err)
		}
	}
	for _, ms := range []int32{-1, 99, 60_001} {
		watch, err := quotas.WatchQuotas(t.Context(), &weirv1.WatchQuotasRequest{IntervalMs: ms})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := watch.Recv(); status.Code(err) != codes.InvalidArgument {
			t.Errorf("interval %d: got %v", ms, err)
		}
	}
}

func TestWatchSendsWhatChanges(t *testing.T) {
	n := startNode(t, "eu", nil)
	conn := dial(t, n)
	watch, err := weirv1.NewQuotaServiceClient(conn).WatchQuotas(t.Context(), &weirv1.WatchQuotasRequest{IntervalMs: 100})
	if err != nil {
		t.Fatal(err)
	}
	if first, err := watch.Recv(); err != nil || first.Page.Total != 0 {
		t.Fatalf("got %v, %v", first, err)
	}
	if _, err := weirv1.NewLimiterServiceClient(conn).Check(t.Context(), &weirv1.CheckRequest{Attributes: key("a")}); err != nil {
		t.Fatal(err)
	}
	for {
		next, err := watch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if next.Page.Total == 1 && next.Page.Quotas[0].Used == 1 {
			break
		}
	}
	stopNode(t, n)
	for err == nil {
		_, err = watch.Recv()
	}
	if status.Code(err) != codes.Unavailable {
		t.Errorf("a watch of a node that drains ended with %v", err)
	}
}

// TestASilentConnectionDoesNotFailAStop: a probe that connects and never says a
// word.
func TestASilentConnectionDoesNotFailAStop(t *testing.T) {
	n := startNode(t, "eu", nil)
	conn, err := net.Dial("tcp", n.GRPCAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	// The server sends its settings once it has taken the connection.
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	stopNode(t, n)
}

func TestHealth(t *testing.T) {
	health := healthv1.NewHealthClient(dial(t, startNode(t, "eu", nil)))
	for _, service := range []string{"", "weir.v1.LimiterService", "weir.v1.QuotaService", "envoy.service.ratelimit.v3.RateLimitService"} {
		out, err := health.Check(t.Context(), &healthv1.HealthCheckRequest{Service: service})
		if err != nil || out.Status != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("%q: %v, %v", service, out, err)
		}
	}
}

func descriptor(k string, hits *uint64) *rlcommon.RateLimitDescriptor {
	d := &rlcommon.RateLimitDescriptor{Entries: []*rlcommon.RateLimitDescriptor_Entry{{Key: "api_key", Value: k}}}
	if hits != nil {
		d.HitsAddend = wrapperspb.UInt64(*hits)
	}
	return d
}

func TestEnvoy(t *testing.T) {
	envoy := rls.NewRateLimitServiceClient(dial(t, startNode(t, "eu", nil)))
	ask := func(hits uint32, d ...*rlcommon.RateLimitDescriptor) *rls.RateLimitResponse {
		t.Helper()
		out, err := envoy.ShouldRateLimit(t.Context(), &rls.RateLimitRequest{Domain: "edge", HitsAddend: hits, Descriptors: d})
		if err != nil || len(out.Statuses) != len(d) {
			t.Fatalf("got %v, %v", out, err)
		}
		return out
	}
	out := ask(0, descriptor("a", nil), descriptor("b", proto.Uint64(400)))
	a, b := out.Statuses[0], out.Statuses[1]
	if out.OverallCode != rls.RateLimitResponse_OK || a.LimitRemaining != 499 || b.LimitRemaining != 100 {
		t.Errorf("got %v", out)
	}
	if b.CurrentLimit.RequestsPerUnit != 100 || b.CurrentLimit.Unit != rls.RateLimitResponse_RateLimit_SECOND || b.DurationUntilReset.AsDuration() <= 0 {
		t.Errorf("got %v", b)
	}
	out = ask(400, descriptor("a", nil), descriptor("b", nil))
	if out.OverallCode != rls.RateLimitResponse_OVER_LIMIT || out.Statuses[0].Code != rls.RateLimitResponse_OK || out.Statuses[1].Code != rls.RateLimitResponse_OVER_LIMIT {
		t.Errorf("got %v", out)
	}
	if look := ask(7, descriptor("a", proto.Uint64(0))).Statuses[0]; look.LimitRemaining < 499 {
		t.Errorf("a was charged although b was over its limit: %v", look)
	}
	unknown := &rlcommon.RateLimitDescriptor{Entries: []*rlcommon.RateLimitDescriptor_Entry{{Key: "other", Value: "x"}}}
	if out := ask(1, unknown); out.OverallCode != rls.RateLimitResponse_OK || out.Statuses[0].CurrentLimit != nil {
		t.Errorf("got %v", out)
	}
}

func TestEnvoyRefuses(t *testing.T) {
	envoy := rls.NewRateLimitServiceClient(dial(t, startNode(t, "eu", nil)))
	override := descriptor("a", nil)
	override.Limit = &rlcommon.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: 1}
	for field, in := range map[string]*rls.RateLimitRequest{
		"domain":                     {Descriptors: []*rlcommon.RateLimitDescriptor{descriptor("a", nil)}},
		"descriptors":                {Domain: "edge"},
		"descriptors[0].limit":       {Domain: "edge", Descriptors: []*rlcommon.RateLimitDescriptor{override}},
		"descriptors[0].hits_addend": {Domain: "edge", HitsAddend: 1 << 31, Descriptors: []*rlcommon.RateLimitDescriptor{descriptor("a", nil)}},
	} {
		_, err := envoy.ShouldRateLimit(t.Context(), in)
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: got %v", field, err)
		}
	}
}
