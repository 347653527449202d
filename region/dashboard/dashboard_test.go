package dashboard_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"weir/region/dashboard"
)

func request(t *testing.T, method, path string, header http.Header) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for name, values := range header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	dashboard.Handler().ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAnswers(t *testing.T) {
	tests := []struct {
		method, path string
		code         int
		contentType  string
	}{
		{"GET", "/", 200, "text/html; charset=utf-8"},
		{"HEAD", "/", 200, "text/html; charset=utf-8"},
		{"GET", "/index.html", 200, "text/html; charset=utf-8"},
		{"GET", "/style.css", 200, "text/css; charset=utf-8"},
		{"GET", "/app.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "/absent.js", 404, "text/plain; charset=utf-8"},
		{"GET", "/../dashboard.go", 404, "text/plain; charset=utf-8"},
		{"GET", "/assets/app.js", 404, "text/plain; charset=utf-8"},
		{"POST", "/", 405, "text/plain; charset=utf-8"},
	}
	for _, tt := range tests {
		t.Run(tt.method+tt.path, func(t *testing.T) {
			r := request(t, tt.method, tt.path, nil)
			if r.StatusCode != tt.code || r.Header.Get("Content-Type") != tt.contentType {
				t.Errorf("got %d %q, want %d %q", r.StatusCode, r.Header.Get("Content-Type"), tt.code, tt.contentType)
			}
			for name, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			} {
				if got := r.Header.Get(name); got != want {
					t.Errorf("%s: got %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestContentSecurityPolicyIsStrict(t *testing.T) {
	got := map[string]string{}
	for directive := range strings.SplitSeq(request(t, "GET", "/", nil).Header.Get("Content-Security-Policy"), ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), " ")
		got[name] = value
	}
	want := map[string]string{
		"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "connect-src": "'self'",
		"img-src": "'self' data:", "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'",
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s: got %q, want %q", name, got[name], value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d directives, want %d: %v", len(got), len(want), got)
	}
}

func TestUnchangedFileIsNotSentAgain(t *testing.T) {
	first := request(t, "GET", "/app.js", nil)
	tag := first.Header.Get("ETag")
	if tag == "" || first.Header.Get("Cache-Control") != "no-cache" {
		t.Fatalf("got ETag %q and Cache-Control %q, want a tag and no-cache", tag, first.Header.Get("Cache-Control"))
	}
	again := request(t, "GET", "/app.js", http.Header{"If-None-Match": {tag}})
	if again.StatusCode != http.StatusNotModified || body(t, again) != "" {
		t.Errorf("with its tag: got %d, want 304 without a body", again.StatusCode)
	}
	if other := request(t, "GET", "/style.css", nil).Header.Get("ETag"); other == tag {
		t.Errorf("two files share the tag %s", tag)
	}
}

var (
	loaded   = regexp.MustCompile(`(?:src|href)="([a-z]+\.(?:js|css))"`)
	imported = regexp.MustCompile(`from '\./([a-z]+\.js)'`)
)

// TestEveryFileIsThere follows what the page and its modules load: a file that
// is missing from the binary shows only in a browser, as a blank page.
func TestEveryFileIsThere(t *testing.T) {
	seen := map[string]bool{}
	queue := []string{"index.html"}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		r := request(t, "GET", "/"+name, nil)
		if r.StatusCode != 200 {
			t.Errorf("%s: got %d, want 200", name, r.StatusCode)
			continue
		}
		content := body(t, r)
		for _, found := range append(loaded.FindAllStringSubmatch(content, -1), imported.FindAllStringSubmatch(content, -1)...) {
			queue = append(queue, found[1])
		}
	}
	if len(seen) < 10 {
		t.Errorf("only %d files are reached from the page: %v", len(seen), seen)
	}
}

// TestNothingInline: the policy would refuse it in the browser, and a style
// attribute refused looks like a bug elsewhere.
func TestNothingInline(t *testing.T) {
	page := body(t, request(t, "GET", "/", nil))
	for _, forbidden := range []string{" style=", "<style", " onclick=", "<script>", "javascript:", "http://", "https://"} {
		if strings.Contains(strings.ReplaceAll(page, "http://www.w3.org/2000/svg", ""), forbidden) {
			t.Errorf("index.html contains %q", forbidden)
		}
	}
}

// TestWireTextIsNeverMarkup: keys are chosen by strangers.
func TestWireTextIsNeverMarkup(t *testing.T) {
	for _, name := range []string{"app.js", "bar.js", "dom.js", "feed.js", "news.js", "panel.js", "quotas.js", "rules.js", "strip.js"} {
		script := body(t, request(t, "GET", "/"+name, nil))
		for _, forbidden := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser", "cssText"} {
			if strings.Contains(script, forbidden) {
				t.Errorf("%s uses %s", name, forbidden)
			}
		}
	}
}
