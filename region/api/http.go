package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	weirv1 "weir/proto/weir/v1"
)

// HTTP is what the HTTP door serves. All fields are needed.
type HTTP struct {
	Limiter *Limiter
	Quotas  *QuotaService
	// Node describes the node for the dashboard; it is asked for each time.
	Node func() Node
	// Ready returns nil while the node may be sent checks, else why not.
	Ready     func() error
	Metrics   http.Handler
	Dashboard http.Handler
}

// Node is what GET /v1/node answers.
type Node struct {
	Node    string     `json:"node"`
	Region  string     `json:"region"`
	Version string     `json:"version"`
	Regions []string   `json:"regions"`
	Rules   []NodeRule `json:"rules"`
	// Restored says where the counters came from at start.
	Restored []string `json:"restoredFrom"`
}

// NodeRule is a rule in words.
type NodeRule struct {
	Name    string   `json:"name"`
	Match   string   `json:"match"`
	CountBy []string `json:"countBy"`
	Limits  []string `json:"limits"`
}

// maxBodyBytes bounds a request's body: a batch of 1 000 checks of ordinary
// size.
const maxBodyBytes = 4 << 20

// Handler returns the routes.
func (h *HTTP) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "alive") })
	mux.HandleFunc("GET /readyz", h.readyz)
	mux.Handle("GET /metrics", h.Metrics)
	mux.HandleFunc("POST /v1/check", func(w http.ResponseWriter, r *http.Request) {
		unary(w, r, new(weirv1.CheckRequest), h.Limiter.Check)
	})
	mux.HandleFunc("POST /v1/check-batch", func(w http.ResponseWriter, r *http.Request) {
		unary(w, r, new(weirv1.CheckBatchRequest), h.Limiter.CheckBatch)
	})
	mux.HandleFunc("POST /v1/refund", func(w http.ResponseWriter, r *http.Request) {
		unary(w, r, new(weirv1.RefundRequest), h.Limiter.Refund)
	})
	mux.HandleFunc("GET /v1/quota", h.quota)
	mux.HandleFunc("GET /v1/quotas", h.quotas)
	mux.HandleFunc("GET /v1/quotas/watch", h.watch)
	mux.HandleFunc("GET /v1/node", h.node)
	mux.Handle("GET /", h.Dashboard)
	return sameOrigin(mux)
}

// sameOrigin refuses what another site's page has a browser send here, which
// may reach a loopback address its visitor can: it would spend quotas. Programs
// send none of the headers by which browsers tell, and pass.
func sameOrigin(next http.Handler) http.Handler {
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		problem(w, status.Error(codes.PermissionDenied, "a page of another origin may not send checks"))
	}))
	return guard.Handler(next)
}

func (h *HTTP) readyz(w http.ResponseWriter, _ *http.Request) {
	if err := h.Ready(); err != nil {
		text(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	text(w, http.StatusOK, "ready")
}

func text(w http.ResponseWriter, code int, s string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, s+"\n") // the caller may be gone; nobody to tell
}

// unary serves a gRPC method as JSON.
func unary[In, Out proto.Message](w http.ResponseWriter, r *http.Request, in In, serve func(context.Context, In) (Out, error)) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		problem(w, bodyError(err))
		return
	}
	if err := protojson.Unmarshal(body, in); err != nil {
		problem(w, status.Errorf(codes.InvalidArgument, "body: %v", err))
		return
	}
	answer(r.Context(), w, in, serve)
}

func bodyError(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return status.Errorf(codes.InvalidArgument, "body: larger than %d bytes", tooLarge.Limit)
	}
	return status.Errorf(codes.InvalidArgument, "body: %v", err)
}

func answer[In, Out proto.Message](ctx context.Context, w http.ResponseWriter, in In, serve func(context.Context, In) (Out, error)) {
	out, err := serve(ctx, in)
	if err != nil {
		problem(w, err)
		return
	}
	body, err := jsonOut.Marshal(out)
	if err != nil {
		problem(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n')) // the caller may be gone; nobody to tell
}

var jsonOut = protojson.MarshalOptions{EmitUnpopulated: true}

// httpCodes maps the gRPC codes the services use.
var httpCodes = map[codes.Code]int{
	codes.InvalidArgument:    http.StatusBadRequest,
	codes.NotFound:           http.StatusNotFound,
	codes.PermissionDenied:   http.StatusForbidden,
	codes.FailedPrecondition: http.StatusConflict,
	codes.ResourceExhausted:  http.StatusServiceUnavailable,
	codes.Unavailable:        http.StatusServiceUnavailable,
}

// problem writes an error as application/problem+json (RFC 9457).
func problem(w http.ResponseWriter, err error) {
	s := status.Convert(err)
	code, ok := httpCodes[s.Code()]
	if !ok {
		code = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(code)
	writeJSON(w, struct {
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{http.StatusText(code), code, s.Message()})
}

// writeJSON writes what encodes without error; the caller may be gone, and there
// is nobody to tell.
func writeJSON(w io.Writer, v any) {
	_ = json.NewEncoder(w).Encode(v) //nolint:errchkjson // see above
}

func (h *HTTP) node(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	writeJSON(w, h.Node())
}

func (h *HTTP) quota(w http.ResponseWriter, r *http.Request) {
	if err := onlyParameters(r, "rule", "key"); err != nil {
		problem(w, err)
		return
	}
	q := r.URL.Query()
	answer(r.Context(), w, &weirv1.GetQuotaRequest{Rule: q.Get("rule"), Key: q.Get("key")}, h.Quotas.GetQuota)
}

// onlyParameters refuses a parameter that would be ignored, and what is no text.
func onlyParameters(r *http.Request, known ...string) error {
	for name, values := range r.URL.Query() {
		if !utf8.ValidString(strings.Join(values, "")) {
			return status.Errorf(codes.InvalidArgument, "%s: not UTF-8", name)
		}
		if !slices.Contains(known, name) {
			return status.Errorf(codes.InvalidArgument, "%s: no such parameter; there are %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// listParameters are those of a page of quotas.
var listParameters = []string{"rule", "search", "order", "pageSize", "pageToken"}

func (h *HTTP) quotas(w http.ResponseWriter, r *http.Request) {
	if err := onlyParameters(r, listParameters...); err != nil {
		problem(w, err)
		return
	}
	in, err := listRequest(r)
	if err != nil {
		problem(w, err)
		return
	}
	answer(r.Context(), w, in, h.Quotas.ListQuotas)
}

func listRequest(r *http.Request) (*weirv1.ListQuotasRequest, error) {
	q := r.URL.Query()
	size, err := intParameter(q.Get("pageSize"), "pageSize")
	if err != nil {
		return nil, err
	}
	order, ok := weirv1.QuotaOrder_value[q.Get("order")]
	if !ok && q.Get("order") != "" {
		return nil, status.Errorf(codes.InvalidArgument, "order: %q; write QUOTA_ORDER_USED or leave it out", q.Get("order"))
	}
	return &weirv1.ListQuotasRequest{
		Rule: q.Get("rule"), Search: q.Get("search"), Order: weirv1.QuotaOrder(order),
		PageSize: size, PageToken: q.Get("pageToken"),
	}, nil
}

func intParameter(value, name string) (int32, error) {
	if value == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return 0, status.Errorf(codes.InvalidArgument, "%s: %q is no whole number", name, value)
	}
	return int32(n), nil
}

// watch streams pages as server-sent events.
func (h *HTTP) watch(w http.ResponseWriter, r *http.Request) {
	if err := onlyParameters(r, append(listParameters[:len(listParameters):len(listParameters)], "intervalMs")...); err != nil {
		problem(w, err)
		return
	}
	list, err := listRequest(r)
	if err != nil {
		problem(w, err)
		return
	}
	interval, err := intParameter(r.URL.Query().Get("intervalMs"), "intervalMs")
	if err != nil {
		problem(w, err)
		return
	}
	events := &eventStream{w: w, rc: http.NewResponseController(w)}
	err = h.Quotas.Watch(r.Context(), &weirv1.WatchQuotasRequest{List: list, IntervalMs: interval},
		func(m *weirv1.WatchQuotasResponse) error { return events.send(m) })
	if err != nil && !events.begun {
		problem(w, err)
	}
}

// eventStream writes messages as server-sent events, each within a deadline,
// so that a reader that stops reading does not hold the watch for ever.
type eventStream struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	begun bool
}

const eventDeadline = 10 * time.Second

func (e *eventStream) send(m proto.Message) error {
	body, err := jsonOut.Marshal(m)
	if err != nil {
		return err
	}
	if !e.begun {
		e.begun = true
		e.w.Header().Set("Content-Type", "text/event-stream")
		e.w.Header().Set("Cache-Control", "no-store")
	}
	if err := e.rc.SetWriteDeadline(time.Now().Add(eventDeadline)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(e.w, "data: %s\n\n", body); err != nil {
		return err
	}
	return e.rc.Flush()
}
