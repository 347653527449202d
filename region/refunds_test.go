package region

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	rlcommon "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"weir/limiter/store/storetest"
	weirv1 "weir/proto/weir/v1"
	"weir/region/config"
)

// order charges a refundable quota and returns the receipt.
func order(t *testing.T, client weirv1.LimiterServiceClient, user string, cost uint64) []byte {
	t.Helper()
	out, err := client.Check(t.Context(), &weirv1.CheckRequest{Attributes: map[string]string{"user": user}, Cost: &cost})
	if err != nil || !out.Allowed || len(out.Receipt) == 0 {
		t.Fatalf("got %v, %v", out, err)
	}
	return out.Receipt
}

// orders is what one user ordered, net, as the node knows it.
func orders(t *testing.T, n *Node, user string) int64 {
	t.Helper()
	out, err := weirv1.NewQuotaServiceClient(dial(t, n)).GetQuota(t.Context(), &weirv1.GetQuotaRequest{Rule: "orders", Key: user})
	if err != nil {
		t.Fatal(err)
	}
	return out.Quota.Used
}

func TestARefundOverGRPC(t *testing.T) {
	n := startNode(t, "eu", nil)
	client := weirv1.NewLimiterServiceClient(dial(t, n))
	receipt := order(t, client, "u", 4)
	ask := func(in *weirv1.RefundRequest, want weirv1.RefundState, units int64) {
		t.Helper()
		out, err := client.Refund(t.Context(), in)
		if err != nil || out.State != want || out.Region != "eu" || len(out.Quotas) != 1 ||
			!proto.Equal(out.Quotas[0], &weirv1.RefundedQuota{Rule: "orders", Key: "u", Units: units, State: want}) {
			t.Errorf("got %v, %v, want %v of %d units", out, err, want, units)
		}
	}
	ask(&weirv1.RefundRequest{Receipt: receipt, Units: proto.Uint64(3)}, weirv1.RefundState_REFUND_STATE_REFUNDED, 3)
	ask(&weirv1.RefundRequest{Receipt: receipt}, weirv1.RefundState_REFUND_STATE_ALREADY, 0)
	if got := orders(t, n, "u"); got != 1 {
		t.Errorf("%d are used", got)
	}
	bad := slices.Clone(receipt)
	bad[len(bad)-1] ^= 1
	for field, in := range map[string]*weirv1.RefundRequest{
		"receipt: empty": {}, "units": {Receipt: receipt, Units: proto.Uint64(0)},
		"cut": {Receipt: receipt[:12]}, "changed since": {Receipt: bad},
	} {
		if out, err := client.Refund(t.Context(), in); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: got %v, %v", field, out, err)
		}
	}
	plain, err := client.Check(t.Context(), &weirv1.CheckRequest{Attributes: key("a")})
	if err != nil || plain.Receipt != nil {
		t.Errorf("a rule that is not refundable: %v, %v", plain, err)
	}
}

func TestARefundOverHTTP(t *testing.T) {
	n := startNode(t, "eu", nil)
	code, body := do(t, n, http.MethodPost, "/v1/check", `{"attributes":{"user":"u"},"cost":5}`)
	var check struct{ Receipt string }
	if err := json.Unmarshal([]byte(body), &check); err != nil || code != http.StatusOK || check.Receipt == "" {
		t.Fatalf("%d %s %v", code, body, err)
	}
	for _, want := range []string{"REFUND_STATE_REFUNDED", "REFUND_STATE_ALREADY"} {
		if code, body := do(t, n, http.MethodPost, "/v1/refund", `{"receipt":"`+check.Receipt+`"}`); code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%d %s, want %s", code, body, want)
		}
	}
	if got := orders(t, n, "u"); got != 0 {
		t.Errorf("%d are used", got)
	}
	for _, receipt := range []string{"", "AAAA", base64.StdEncoding.EncodeToString(make([]byte, 5000))} {
		if code, body := do(t, n, http.MethodPost, "/v1/refund", `{"receipt":"`+receipt+`"}`); code != http.StatusBadRequest || !strings.Contains(body, "receipt") {
			t.Errorf("%d %s", code, body)
		}
	}
}

// TestNegativeHits: what Envoy gives back is cut to what was taken, and what else
// is in the call is decided.
func TestNegativeHits(t *testing.T) {
	n := startNode(t, "eu", nil)
	envoy := rls.NewRateLimitServiceClient(dial(t, n))
	hits := func(name, value string, hits uint64, negative bool) *rlcommon.RateLimitDescriptor {
		return &rlcommon.RateLimitDescriptor{Entries: []*rlcommon.RateLimitDescriptor_Entry{{Key: name, Value: value}},
			HitsAddend: wrapperspb.UInt64(hits), IsNegativeHits: negative}
	}
	ask := func(used int64, d ...*rlcommon.RateLimitDescriptor) *rls.RateLimitResponse {
		t.Helper()
		out, err := envoy.ShouldRateLimit(t.Context(), &rls.RateLimitRequest{Domain: "edge", Descriptors: d})
		if err != nil || out.OverallCode != rls.RateLimitResponse_OK || orders(t, n, "u") != used {
			t.Errorf("got %v, %v, and %d are used; want %d", out, err, orders(t, n, "u"), used)
		}
		return out
	}
	ask(10, hits("user", "u", 10, false))
	out := ask(6, hits("user", "u", 4, true), hits("api_key", "a", 7, false))
	if out.Statuses[0].LimitRemaining != 994 || out.Statuses[1].LimitRemaining > 500 {
		t.Errorf("got %v", out)
	}
	ask(2, hits("user", "u", 4, true))
	ask(0, hits("user", "u", 4, true))
	ask(0, hits("user", "u", 4, true))
	if out := ask(0, hits("api_key", "a", 5, true)); out.Statuses[0].LimitRemaining > 500 {
		t.Errorf("got %v", out)
	}
}

// TestARefundElsewhere: brought to another region a receipt is passed on, and
// refunded there once.
func TestARefundElsewhere(t *testing.T) {
	eu := startNode(t, "eu", nil)
	us := startNode(t, "us", func(cfg *config.Config) { cfg.Gossip.Join = []string{eu.GossipAddr()} })
	receipt := order(t, weirv1.NewLimiterServiceClient(dial(t, us)), "u", 4)
	client := weirv1.NewLimiterServiceClient(dial(t, eu))
	for range 2 {
		out, err := client.Refund(t.Context(), &weirv1.RefundRequest{Receipt: receipt, Units: proto.Uint64(3)})
		if err != nil || out.State != weirv1.RefundState_REFUND_STATE_FORWARDED || out.Region != "us" {
			t.Fatalf("got %v, %v", out, err)
		}
	}
	waitUntil(t, "both know of the refund", func() bool { return orders(t, us, "u") == 1 && orders(t, eu, "u") == 1 })
	waitUntil(t, "nothing waits", func() bool { return eu.mesh.ParcelsWaiting() == 0 })
	if got := orders(t, us, "u"); got != 1 {
		t.Errorf("refunded twice: %d are used", got)
	}
}

// TestNodesOfARegionKnowEachOthersReceipts: they share the secret.
func TestNodesOfARegionKnowEachOthersReceipts(t *testing.T) {
	server := storetest.StartServer(t)
	a := startNode(t, "eu", func(cfg *config.Config) { cfg.Store, cfg.Node = server.URL, "a" })
	b := startNode(t, "eu", func(cfg *config.Config) {
		cfg.Store, cfg.Node, cfg.Gossip.Join = server.URL, "b", []string{a.GossipAddr()}
	})
	receipt := order(t, weirv1.NewLimiterServiceClient(dial(t, a)), "u", 4)
	out, err := weirv1.NewLimiterServiceClient(dial(t, b)).Refund(t.Context(), &weirv1.RefundRequest{Receipt: receipt})
	if err != nil || out.State != weirv1.RefundState_REFUND_STATE_REFUNDED || orders(t, b, "u") != 0 {
		t.Errorf("got %v, %v, and %d are used", out, err, orders(t, b, "u"))
	}
}
