// Package dashboard serves the page that shows global quotas by region.
//
// The page is plain files embedded in the binary: no build step and no
// dependency. It reads what the node's own HTTP API says (/v1/node, /v1/quotas
// and /v1/quotas/watch, all relative to where the page is served) and changes
// nothing. Its content security policy allows neither inline script nor inline
// style and no other origin, so that a counted key, which anyone can choose,
// has nothing to turn into.
package dashboard

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed assets
var embedded embed.FS

// contentSecurityPolicy lets the page load its own files and call its own
// node, and nothing else. data: is for the icon in the browser's tab.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; " +
	"connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// contentTypes is fixed here because the standard library's table depends on
// the machine, and nosniff turns a wrong type into a blank page.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
}

type asset struct {
	body        []byte
	contentType string
	etag        string
}

// Handler serves the page at "/" and its files beside it. It answers GET and
// HEAD; other methods get 405 and unknown paths 404. Mount it at the root, or
// behind http.StripPrefix at a path that ends in a slash.
func Handler() http.Handler {
	assets := load()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protect(w.Header())
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the dashboard answers GET and HEAD only", http.StatusMethodNotAllowed)
			return
		}
		found, ok := assets[assetName(r.URL.Path)]
		if !ok {
			http.NotFound(w, r)
			return
		}
		serve(w, r, found)
	})
}

func assetName(urlPath string) string {
	if name := strings.TrimPrefix(urlPath, "/"); name != "" {
		return name
	}
	return "index.html"
}

func serve(w http.ResponseWriter, r *http.Request, a asset) {
	w.Header().Set("Content-Type", a.contentType)
	// Asked anew each time and answered 304: after an upgrade of the node no
	// browser runs old script against the new API.
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", a.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.body))
}

func protect(h http.Header) {
	h.Set("Content-Security-Policy", contentSecurityPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// load panics where an embedded file has no content type: that is known when
// the binary is built and met by any test that makes a Handler.
func load() map[string]asset {
	assets := map[string]asset{}
	files, err := fs.ReadDir(embedded, "assets")
	if err != nil {
		panic("dashboard: embedded assets: " + err.Error())
	}
	for _, f := range files {
		body, err := embedded.ReadFile(path.Join("assets", f.Name()))
		if err != nil {
			panic("dashboard: " + f.Name() + ": " + err.Error())
		}
		contentType, ok := contentTypes[path.Ext(f.Name())]
		if !ok {
			panic("dashboard: no content type for " + f.Name())
		}
		sum := sha256.Sum256(body)
		assets[f.Name()] = asset{
			body:        body,
			contentType: contentType,
			etag:        `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`,
		}
	}
	return assets
}
