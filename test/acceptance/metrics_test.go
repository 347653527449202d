package acceptance

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	weirv1 "weir/proto/weir/v1"
)

// series are the samples of a node's metrics: values by name and labels.
func series(t *testing.T, n *node) map[string]string {
	t.Helper()
	code, body, err := get(t.Context(), "http://"+n.httpAddr()+"/metrics")
	if err != nil || code != http.StatusOK {
		t.Fatalf("/metrics: %d, %v", code, err)
	}
	out := make(map[string]string)
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.Contains(line, `reason="store_unavailable"`) {
			continue // comes and goes with how busy the machine is
		}
		at := strings.LastIndexByte(line, ' ')
		out[line[:at]] = line[at+1:]
	}
	return out
}

func metric(t *testing.T, n *node, name string) string {
	t.Helper()
	value, ok := series(t, n)[name]
	if !ok {
		t.Fatalf("%s has no metric %s", n.name, name)
	}
	return value
}

const seriesRules = `
rules:
  - name: pace
    count_by: [api_key]
    limit: 2/h
  - name: daily
    count_by: [api_key]
    quota: 1000/day
  - name: paths
    count_by: [ip, path]
    limit: 10/s
`

// The number of series does not depend on the number of keys.
func TestSeries(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			n := startNode(t, startStore(t, kind), seriesRules)
			c := dial(t, n)
			distinctKeys(t, c, 0, 1)
			c.check(t, 11, map[string]string{"ip": "198.18.0.0", "path": "/"}) // a denial by address
			before := series(t, n)
			distinctKeys(t, c, 1, manySeries())
			after := series(t, n)
			if len(before) != len(after) {
				for name := range maps.Keys(before) {
					delete(after, name)
				}
				t.Errorf("new series: %v", slices.Sorted(maps.Keys(after)))
			}
			t.Logf("%d series before and after %d keys", len(before), manySeries())
		})
	}
}

func manySeries() int {
	if testing.Short() {
		return 20_000
	}
	return 200_000
}

// distinctKeys asks three times for each key from one to another, so that the
// third is denied, and once by address.
func distinctKeys(t *testing.T, c *client, from, to int) {
	t.Helper()
	const keysPerBatch = 25
	for ; from < to; from += keysPerBatch {
		var in weirv1.CheckBatchRequest
		for i := from; i < min(to, from+keysPerBatch); i++ {
			key := map[string]string{"api_key": fmt.Sprintf("sk_%d", i)}
			address := map[string]string{"ip": fmt.Sprintf("198.18.%d.%d", i>>8&255, i&255), "path": fmt.Sprintf("/%d", i)}
			for _, attributes := range []map[string]string{key, key, key, address} {
				in.Checks = append(in.Checks, &weirv1.CheckRequest{Attributes: attributes})
			}
		}
		out, err := c.CheckBatch(t.Context(), &in)
		if err != nil {
			t.Fatal(err)
		}
		for i, answer := range out.Checks {
			unavailable := answer.Reason == weirv1.Reason_REASON_STORE_UNAVAILABLE
			if want := i%4 != 2; answer.Allowed != want && !unavailable {
				t.Fatalf("%v: allowed is %v, want %v: %v", in.Checks[i].Attributes, answer.Allowed, want, answer)
			}
		}
	}
}
