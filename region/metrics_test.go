package region

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/limiter"
	"weir/limiter/store/storetest"
	weirv1 "weir/proto/weir/v1"
	"weir/region/config"
)

// TestMetricsAreDocumented compares docs/metrics.md with what is registered.
func TestMetricsAreDocumented(t *testing.T) {
	server := storetest.StartServer(t)
	n := startNode(t, "eu", func(cfg *config.Config) { cfg.Store = server.URL })
	denied := limiter.Decision{Status: limiter.Status{Rule: "r", Reason: limiter.ReasonLimitExceeded}}
	n.decisions.Count(&denied) // counters with labels exist once counted

	families, err := n.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var registered []string
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "weir_") || strings.HasPrefix(f.GetName(), "rate_limiter_") {
			registered = append(registered, f.GetName())
		}
	}
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, m := range regexp.MustCompile("`((?:weir|rate_limiter)_[a-z_]+)").FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, m[1])
	}
	slices.Sort(registered)
	slices.Sort(documented)
	if !slices.Equal(registered, documented) {
		t.Errorf("registered and documented metrics differ:\nregistered %v\ndocumented %v", registered, documented)
	}
}

// A call to Redis is measured, and one that fails is counted.
func TestRedisIsMeasured(t *testing.T) {
	server := storetest.StartServer(t)
	n := startNode(t, "eu", func(cfg *config.Config) { cfg.Store = server.URL })
	calls, errs := redisFigures(t, n)
	checkOnce(t, n, "a")
	if now, _ := redisFigures(t, n); now <= calls {
		t.Errorf("%v calls before a check, %v after", calls, now)
	}
	server.Kill()
	out, err := weirv1.NewLimiterServiceClient(dial(t, n)).Check(t.Context(), &weirv1.CheckRequest{Attributes: key("a")})
	if err != nil || out.Reason != weirv1.Reason_REASON_STORE_UNAVAILABLE {
		t.Errorf("got %v, %v", out, err)
	}
	if _, now := redisFigures(t, n); now <= errs {
		t.Errorf("%v errors before the server was killed, %v after", errs, now)
	}
}

func redisFigures(t *testing.T, n *Node) (calls uint64, errs float64) {
	t.Helper()
	families, err := n.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		switch f.GetName() {
		case "rate_limiter_redis_latency_seconds":
			calls = f.GetMetric()[0].GetHistogram().GetSampleCount()
		case "rate_limiter_redis_errors_total":
			errs = f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return calls, errs
}
