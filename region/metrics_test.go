package region

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/limiter"
	"weir/region/telemetry"
)

// TestMetricsAreDocumented compares docs/metrics.md with what is registered.
func TestMetricsAreDocumented(t *testing.T) {
	n := startNode(t, "eu", nil)
	telemetry.NewRedis(n.registry) // a node with Redis registers these too
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
