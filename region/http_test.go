package region

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

func get(t *testing.T, n *Node, path string) (int, string) {
	t.Helper()
	return do(t, n, http.MethodGet, path, "")
}

func do(t *testing.T, n *Node, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+n.HTTPAddr().String()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestHTTP(t *testing.T) {
	n := startNode(t, "eu", nil)
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/livez", "", 200, "alive"},
		{"GET", "/readyz", "", 200, "ready"},
		{"POST", "/v1/check", `{"attributes":{"api_key":"a"},"cost":"2"}`, 200, `"allowed":true`},
		{"POST", "/v1/check", `{"attributes":{"api_key":"a"},"cost":0,"explain":true}`, 200, `"remaining":"998"`},
		{"POST", "/v1/check", `{"attribute":{}}`, 400, "attribute"},
		{"POST", "/v1/check", `{`, 400, "body"},
		{"POST", "/v1/check", `{"cost":"2000000000"}`, 400, "cost"},
		{"POST", "/v1/check-batch", `{"checks":[{},{"attributes":{"api_key":"a"},"cost":9999}]}`, 200, "REASON_COST_EXCEEDS_LIMIT"},
		{"GET", "/v1/quota?rule=daily&key=a", "", 200, `"used":"2"`},
		{"GET", "/v1/quota?rule=none&key=a", "", 404, "no rule"},
		{"GET", "/v1/quotas?search=a&order=QUOTA_ORDER_USED", "", 200, `"total":"1"`},
		{"GET", "/v1/quotas?pageSize=x", "", 400, "pageSize"},
		{"GET", "/v1/quotas?order=x", "", 400, "order"},
		{"GET", "/v1/quotas?page_size=1", "", 400, "page_size"},
		{"GET", "/v1/quotas/watch?x=1", "", 400, "intervalMs"},
		{"GET", "/v1/quota?rule=daily&keyy=a", "", 400, "keyy"},
		{"GET", "/v1/quota?rule=daily&key=%ff", "", 400, "UTF-8"},
		{"GET", "/v1/quotas/watch?intervalMs=1", "", 400, "interval_ms"},
		{"GET", "/v1/node", "", 200, `"restoredFrom":["nothing"]`},
		{"GET", "/metrics", "", 200, `rate_limiter_requests_total{algorithm="token_bucket",key_type="api_key",result="denied"} 1`},
		{"GET", "/", "", 200, "<title>"},
		{"PUT", "/v1/check", "", 405, ""},
		{"POST", "/v1/check", strings.Repeat("x", 5<<20), 400, "larger than"},
	} {
		status, text := do(t, n, c.method, c.path, c.body)
		if status != c.status || !strings.Contains(strings.ReplaceAll(text, `": `, `":`), c.want) {
			t.Errorf("%s %s: got %d %s", c.method, c.path, status, text)
		}
		if status >= 400 && status != 405 && !json.Valid([]byte(text)) {
			t.Errorf("%s %s: the problem is no JSON: %s", c.method, c.path, text)
		}
	}
}

func TestWatchAsEvents(t *testing.T) {
	n := startNode(t, "eu", nil)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+n.HTTPAddr().String()+"/v1/quotas/watch?intervalMs=100", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("content type %q", got)
	}
	do(t, n, "POST", "/v1/check", `{"attributes":{"api_key":"a"}}`)
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if event, ok := strings.CutPrefix(lines.Text(), "data: "); ok && strings.Contains(strings.ReplaceAll(event, " ", ""), `"used":"1"`) {
			return
		}
	}
	t.Errorf("the stream ended without the change: %v", lines.Err())
}

func TestNotReadyIsSaid(t *testing.T) {
	n := startNode(t, "eu", nil)
	n.waitingFor("the tide")
	if status, text := get(t, n, "/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(text, "the tide") {
		t.Errorf("got %d %s", status, text)
	}
}

// Another site's page cannot have its visitor's browser spend quotas here;
// programs and the node's own pages can.
func TestChecksFromOtherOrigins(t *testing.T) {
	n := startNode(t, "eu", nil)
	here := "http://" + n.HTTPAddr().String()
	for _, c := range []struct {
		name    string
		headers map[string]string
		status  int
	}{
		{"a program", nil, 200},
		{"a page of the node", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": here}, 200},
		{"another site", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "http://example.com"}, 403},
		{"another port", map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:1"}, 403},
		{"an old browser", map[string]string{"Origin": "http://example.com", "Content-Type": "text/plain"}, 403},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, here+"/v1/check", strings.NewReader(`{"attributes":{"api_key":"a"}}`))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range c.headers {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s: got %d, want %d", c.name, resp.StatusCode, c.status)
		}
	}
	if got := used(t, n, "a"); got != 2 {
		t.Errorf("%d are used, want 2", got)
	}
}
