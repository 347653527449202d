package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	weirv1 "weir/proto/weir/v1"
	"weir/region/dashboard"
)

// fakeNode plays a node: it serves the page and the three endpoints the page
// reads, from quotas and regions that the test changes under mu.
type fakeNode struct {
	URL string

	mu      sync.Mutex
	names   []string
	ages    map[string]time.Duration
	quotas  []*weirv1.Quota
	server  *httptest.Server
	down    bool // refuses everything
	watches int  // streams open now
}

func newFakeNode(t *testing.T, regions ...string) *fakeNode {
	t.Helper()
	n := &fakeNode{names: regions, ages: map[string]time.Duration{}}
	for _, name := range regions {
		n.ages[name] = 200 * time.Millisecond
	}
	n.server = httptest.NewServer(n.unlessDown(n.routes()))
	n.URL = n.server.URL
	t.Cleanup(func() {
		n.server.CloseClientConnections()
		n.server.Close()
	})
	return n
}

func (n *fakeNode) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/node", n.node)
	mux.HandleFunc("GET /v1/quota", n.get)
	mux.HandleFunc("GET /v1/quotas", func(w http.ResponseWriter, r *http.Request) { writeProto(w, n.list(r)) })
	mux.HandleFunc("GET /v1/quotas/watch", n.watch)
	mux.Handle("GET /", dashboard.Handler())
	return mux
}

// unlessDown drops connections while the node plays dead.
func (n *fakeNode) unlessDown(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		down := n.down
		n.mu.Unlock()
		if down {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
}

// refuse makes the node play dead, or ends that.
func (n *fakeNode) refuse(down bool) {
	n.change(func() { n.down = down })
	if down {
		n.server.CloseClientConnections()
	}
}

// waitForWatchers waits until so many streams are open.
func (n *fakeNode) waitForWatchers(t *testing.T, want int) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		n.mu.Lock()
		got := n.watches
		n.mu.Unlock()
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d streams are open, want %d", got, want)
		}
	}
}

// change runs f while nobody reads.
func (n *fakeNode) change(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
}

// add makes a quota of a day with taken units by region, in the order of the
// regions. Nothing bounds its overshoot.
func (n *fakeNode) add(rule, key string, limit int64, taken ...int64) *weirv1.Quota {
	start := time.Now().UTC().Truncate(24 * time.Hour)
	q := &weirv1.Quota{
		Rule: rule, Key: key, Limit: limit,
		PeriodStartUnixSeconds: start.Unix(), PeriodEndUnixSeconds: start.Add(24 * time.Hour).Unix(),
		OvershootUnbounded: true, TimeZone: "UTC",
	}
	for i, name := range n.names {
		use := &weirv1.RegionUse{Region: name}
		if i < len(taken) {
			use.Taken = taken[i]
		}
		q.ByRegion = append(q.ByRegion, use)
	}
	settle(q)
	n.change(func() { n.quotas = append(n.quotas, q) })
	return q
}

// take adds units to one region's part of a quota.
func (n *fakeNode) take(q *weirv1.Quota, region int, units int64) {
	n.change(func() {
		q.ByRegion[region].Taken += units
		settle(q)
	})
}

// hear sets how old the newest state heard from a region is.
func (n *fakeNode) hear(region string, age time.Duration) {
	n.change(func() { n.ages[region] = age })
}

func settle(q *weirv1.Quota) {
	q.Used = 0
	for _, use := range q.ByRegion {
		q.Used += use.Taken - use.GivenBack
	}
	q.Remaining = max(0, q.Limit-q.Used)
}

func (n *fakeNode) node(w http.ResponseWriter, _ *http.Request) {
	_ = json.NewEncoder(w).Encode(map[string]any{ // the browser may be gone
		"node": n.names[0] + "-1", "region": n.names[0], "version": "0.1.0", "regions": n.names,
		"rules": []map[string]any{
			{"name": "daily", "match": "path = /v1/charges", "countBy": []string{"api_key"}, "limits": []string{"100/s, burst 500", "100000/day"}},
			{"name": "payouts", "match": "method in POST; path = /v1/payouts", "countBy": []string{"account"}, "limits": []string{"20000/day"}},
			{"name": "exports", "match": "", "countBy": []string{}, "limits": []string{"1e6/month"}},
		},
	})
}

func (n *fakeNode) get(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, q := range n.quotas {
		if q.Rule == r.FormValue("rule") && q.Key == r.FormValue("key") {
			writeProto(w, &weirv1.GetQuotaResponse{Quota: q, Regions: n.states()})
			return
		}
	}
	http.Error(w, `{"detail":"no such rule"}`, http.StatusNotFound)
}

// states needs mu.
func (n *fakeNode) states() []*weirv1.RegionState {
	var out []*weirv1.RegionState
	for i, name := range n.names {
		s := &weirv1.RegionState{Region: name, Here: i == 0, StalenessMs: n.ages[name].Milliseconds()}
		switch age := n.ages[name]; {
		case i == 0:
			s.StalenessMs, s.Touch = 0, weirv1.Touch_TOUCH_IN_TOUCH
		case age < 0:
			s.StalenessMs, s.Touch = -1, weirv1.Touch_TOUCH_CUT_OFF
		case age < 2*time.Second:
			s.Touch = weirv1.Touch_TOUCH_IN_TOUCH
		case age < 10*time.Second:
			s.Touch = weirv1.Touch_TOUCH_BEHIND
		default:
			s.Touch = weirv1.Touch_TOUCH_CUT_OFF
		}
		out = append(out, s)
	}
	return out
}

func (n *fakeNode) list(r *http.Request) *weirv1.ListQuotasResponse {
	n.mu.Lock()
	defer n.mu.Unlock()
	found := n.matching(r.FormValue("rule"), r.FormValue("search"))
	sort.SliceStable(found, func(i, j int) bool {
		a, b := found[i], found[j]
		if r.FormValue("order") == "QUOTA_ORDER_USED" && a.Used*b.Limit != b.Used*a.Limit {
			return a.Used*b.Limit > b.Used*a.Limit
		}
		return a.Rule+"\x00"+a.Key < b.Rule+"\x00"+b.Key
	})
	from, _ := strconv.Atoi(r.FormValue("pageToken"))
	size, _ := strconv.Atoi(r.FormValue("pageSize"))
	from = min(from, len(found))
	to := min(from+max(size, 1), len(found))
	page := &weirv1.ListQuotasResponse{Regions: n.states(), Total: int64(len(found))}
	for _, q := range found[from:to] {
		page.Quotas = append(page.Quotas, proto.CloneOf(q))
	}
	if to < len(found) {
		page.NextPageToken = strconv.Itoa(to)
	}
	return page
}

func (n *fakeNode) matching(rule, search string) []*weirv1.Quota {
	var found []*weirv1.Quota
	for _, q := range n.quotas {
		if (rule == "" || q.Rule == rule) && (strings.Contains(q.Key, search) || strings.Contains(q.Rule, search)) {
			found = append(found, q)
		}
	}
	return found
}

// watch sends a page at once and then once a second, as a node does whose
// regions' ages change all the time.
func (n *fakeNode) watch(w http.ResponseWriter, r *http.Request) {
	interval, err := strconv.Atoi(r.FormValue("intervalMs"))
	if err != nil {
		http.Error(w, "intervalMs: no whole number", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	n.change(func() { n.watches++ })
	defer n.change(func() { n.watches-- })
	tick := time.NewTicker(time.Duration(interval) * time.Millisecond)
	defer tick.Stop()
	for {
		body, err := jsonOut.Marshal(&weirv1.WatchQuotasResponse{Page: n.list(r)})
		if err != nil {
			panic(err)
		}
		if _, err := fmt.Fprintf(w, ": keep-alive\n\ndata: %s\n\n", body); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}

var jsonOut = protojson.MarshalOptions{EmitUnpopulated: true}

func writeProto(w http.ResponseWriter, m proto.Message) {
	body, err := jsonOut.Marshal(m)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the browser may be gone
}
