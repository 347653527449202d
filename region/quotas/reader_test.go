package quotas

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"weir/crdt"
	"weir/limiter/rule"
	weirv1 "weir/proto/weir/v1"
	"weir/region/api"
	"weir/region/ledger"
)

const day = 86_400

// table is rows in memory, with a clock.
type table struct {
	rows    []*crdt.Row
	byID    map[crdt.RowID]*crdt.Row
	changes atomic.Uint64
	walks   atomic.Int64
	nowNs   atomic.Int64
	walk    time.Duration // how long a walk takes by the clock
	cut     atomic.Bool   // us is cut off
	onWalk  func()
}

func (s *table) View(id crdt.RowID, f func(*crdt.Row)) bool {
	row, ok := s.byID[id]
	if ok {
		f(row)
	}
	return ok
}

func (s *table) Each(f func(*crdt.Row)) {
	s.walks.Add(1)
	s.nowNs.Add(int64(s.walk))
	if s.onWalk != nil {
		s.onWalk()
	}
	for _, row := range s.rows {
		f(row)
	}
}

func (s *table) Generation(first crdt.RowID) (newest uint32) {
	for _, row := range s.rows {
		name := row.Name()
		generation := name.Generation
		if name.Generation = 0; name.ID() == first {
			newest = max(newest, generation)
		}
	}
	return newest
}

// Share implements Shares: halves, the odd unit goes to eu.
func (s *table) Share(region string, _, total int64) int64 {
	if region == "eu" {
		return total - total/2
	}
	return total / 2
}

// Regions implements api.Regions.
func (s *table) Regions() []api.RegionState {
	us := api.RegionState{Name: "us", Known: true}
	if s.cut.Load() {
		us.Age = ledger.CutOff
	}
	return []api.RegionState{{Name: "eu", Here: true}, us}
}

func (s *table) Changes() uint64 { return s.changes.Load() }

func (s *table) now() time.Time { return time.Unix(0, s.nowNs.Load()) }

func (s *table) add(ruleName, key string, start, taken int64) {
	row := crdt.NewRow(crdt.RowName{Rule: ruleName, Key: key, Start: start, End: start + day})
	row.Merge(crdt.Entry{Replica: crdt.Replica{Region: "eu", Nonce: 1}, Version: 1, Taken: taken})
	s.keep(row)
}

func (s *table) keep(row *crdt.Row) {
	s.rows = append(s.rows, row)
	s.byID[row.Name().ID()] = row
}

// newTable returns an empty table at noon of the day that begins at 100 days.
func newTable() *table {
	s := &table{byID: make(map[crdt.RowID]*crdt.Row)}
	s.nowNs.Store(int64(100*day+day/2) * int64(time.Second))
	return s
}

func reader(t testing.TB, s *table) *Reader {
	t.Helper()
	set, err := rule.Parse("rules.yaml", []byte(`
rules:
  - {name: daily, count_by: [api_key], limit: 5/s, quota: 1000/day}
  - {name: small, count_by: [user], quota: 10/day}
  - {name: burst, count_by: [user], limit: 5/s}
  - {name: free, count_by: [user], quota: 100/day, overshoot: unbounded, timezone: America/Los_Angeles}
`))
	if err != nil {
		t.Fatal(err)
	}
	return NewReader(Config{Rows: s, Rules: func() *rule.Set { return set }, Shares: s, Regions: []string{"eu", "us"}, States: s, Now: s.now})
}

func TestGet(t *testing.T) {
	s := newTable()
	s.add("daily", "a", 100*day, 3)
	s.add("daily", "a", 99*day, 7)
	r := reader(t, s)
	if q, ok := r.Get("daily", "a"); !ok || q.Used != 3 || q.Remaining != 997 || q.PeriodStartUnixSeconds != 100*day || q.ByRegion[0].Taken != 3 {
		t.Errorf("got %v", q)
	}
	if q, ok := r.Get("small", "nobody"); !ok || q.Used != 0 || q.Limit != 10 || len(q.ByRegion) != 2 {
		t.Errorf("got %v", q)
	}
	for _, name := range []string{"burst", "none"} {
		if q, ok := r.Get(name, "a"); ok {
			t.Errorf("%s: got %v", name, q)
		}
	}
}

// TestPagesAreTheSortedList compares pages with a plain sort of everything.
func TestPagesAreTheSortedList(t *testing.T) {
	limits := map[string]int64{"daily": 1000, "small": 10}
	rapid.Check(t, func(rt *rapid.T) {
		s := newTable()
		in := &weirv1.ListQuotasRequest{
			Rule:     rapid.SampledFrom([]string{"", "daily", "small"}).Draw(rt, "rule"),
			Search:   rapid.SampledFrom([]string{"", "k1", "aily", "x"}).Draw(rt, "search"),
			Order:    weirv1.QuotaOrder(rapid.IntRange(0, 1).Draw(rt, "order")),
			PageSize: int32(rapid.IntRange(1, 9).Draw(rt, "size")),
		}
		var want []*crdt.Row
		for i := range rapid.IntRange(0, 60).Draw(rt, "rows") {
			name := rapid.SampledFrom([]string{"daily", "small"}).Draw(rt, "rule of the row")
			start := int64(rapid.IntRange(99, 101).Draw(rt, "day")) * day
			key := fmt.Sprintf("k%02d", i)
			s.add(name, key, start, int64(rapid.IntRange(0, 12).Draw(rt, "taken")))
			if start == 100*day && (in.Rule == "" || in.Rule == name) && strings.Contains(key+" "+name, in.Search) {
				want = append(want, s.rows[i])
			}
		}
		share := func(row *crdt.Row) float64 {
			if in.Order != weirv1.QuotaOrder_QUOTA_ORDER_USED {
				return 0
			}
			return float64(row.Value()) / float64(limits[row.Name().Rule])
		}
		slices.SortFunc(want, func(a, b *crdt.Row) int {
			return cmp.Or(cmp.Compare(share(b), share(a)), cmp.Compare(a.Name().Rule, b.Name().Rule), cmp.Compare(a.Name().Key, b.Name().Key))
		})
		comparePages(rt, reader(t, s), in, want)
	})
}

func comparePages(rt *rapid.T, r *Reader, in *weirv1.ListQuotasRequest, want []*crdt.Row) {
	var got []*weirv1.Quota
	for {
		page, err := r.List(context.Background(), in)
		if err != nil || page.Total != int64(len(want)) || len(page.Quotas) > int(in.PageSize) {
			rt.Fatalf("got %v, %v, want %d in all", page, err, len(want))
		}
		got = append(got, page.Quotas...)
		if in.PageToken = page.Next; page.Next == "" {
			break
		}
	}
	if len(got) != len(want) {
		rt.Fatalf("got %d quotas, want %d", len(got), len(want))
	}
	for i, q := range got {
		if q.Rule != want[i].Name().Rule || q.Key != want[i].Name().Key || q.Used != want[i].Value() {
			rt.Errorf("place %d: got %v, want %v", i, q, want[i].Name())
		}
	}
}

func TestBadTokens(t *testing.T) {
	r := reader(t, newTable())
	for _, token := range []string{"x", "-1", "1.5", "99999999999999999999"} {
		if _, err := r.List(t.Context(), &weirv1.ListQuotasRequest{PageSize: 1, PageToken: token}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: got %v", token, err)
		}
	}
	page, err := r.List(t.Context(), &weirv1.ListQuotasRequest{PageSize: 1, PageToken: "2147483647"})
	if err != nil || len(page.Quotas) != 0 || page.Next != "" {
		t.Errorf("past the end: got %v, %v", page, err)
	}
}

// Callers that come while a page is made share the next; nobody gets a page
// older than the call.
func TestCallersShareAPage(t *testing.T) {
	s := newTable()
	s.add("daily", "a", 100*day, 1)
	r := reader(t, s)
	in := &weirv1.ListQuotasRequest{PageSize: 10}
	begun, goOn := make(chan struct{}), make(chan struct{})
	s.onWalk = func() {
		if s.walks.Load() == 1 {
			close(begun)
			<-goOn
		}
	}
	var wg sync.WaitGroup
	ask := func() {
		if _, err := r.List(t.Context(), in); err != nil {
			t.Error(err)
		}
	}
	wg.Go(ask)
	<-begun
	s.changes.Add(1) // the page being made may lack it
	for range 50 {
		wg.Go(ask)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.List(gone, in); status.Code(err) != codes.Canceled {
		t.Errorf("a caller that went waited on: %v", err)
	}
	close(goOn)
	wg.Wait()
	if walks := s.walks.Load(); walks != 2 {
		t.Errorf("%d walks over the rows, want 2", walks)
	}
}

// Watchers are shown a page for twenty times as long as it took to make.
func TestRecentPagesRest(t *testing.T) {
	s := newTable()
	s.add("daily", "a", 100*day, 1)
	s.walk = time.Second
	r := reader(t, s)
	in := &weirv1.ListQuotasRequest{PageSize: 10}
	look := func(after time.Duration, wantWalks int64) {
		t.Helper()
		s.nowNs.Add(int64(after))
		s.changes.Add(1)
		if _, err := r.Recent(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if walks := s.walks.Load(); walks != wantWalks {
			t.Errorf("%d walks, want %d", walks, wantWalks)
		}
	}
	look(0, 1)
	look(0, 1)
	look(18*time.Second, 1)
	look(2*time.Second, 2)
	if _, err := r.List(t.Context(), in); err != nil || s.walks.Load() != 2 {
		t.Errorf("a page of which nothing changed was made anew: %v, %d walks", err, s.walks.Load())
	}
	s.changes.Add(1)
	if _, err := r.List(t.Context(), in); err != nil || s.walks.Load() != 3 {
		t.Errorf("a page as it is now: %v, %d walks", err, s.walks.Load())
	}
}

func TestANewPeriodIsANewPage(t *testing.T) {
	s := newTable()
	s.add("daily", "a", 100*day, 1)
	r := reader(t, s)
	in := &weirv1.ListQuotasRequest{PageSize: 10}
	for _, want := range []int64{1, 0} {
		page, err := r.List(t.Context(), in)
		if err != nil || page.Total != want {
			t.Errorf("got %v, %v, want %d", page, err, want)
		}
		s.nowNs.Store(int64(101*day) * int64(time.Second))
	}
}

func TestKeptPagesAreBounded(t *testing.T) {
	s := newTable()
	r := reader(t, s)
	for i := range maxPages + 5 {
		s.nowNs.Add(1)
		if _, err := r.List(t.Context(), &weirv1.ListQuotasRequest{PageSize: 1, Search: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, kept := r.pages.last[request{search: "0", size: 1}]; len(r.pages.last) != maxPages || kept {
		t.Errorf("%d are kept, the oldest among them: %v", len(r.pages.last), kept)
	}
}

func BenchmarkListAMillion(b *testing.B) {
	s := newTable()
	for i := range 1_000_000 {
		s.add("daily", fmt.Sprintf("key-%07d", i*7919%1_000_000), 100*day, int64(i%1000))
	}
	r := reader(b, s)
	set := r.rules()
	for b.Loop() {
		r.list(request{order: weirv1.QuotaOrder_QUOTA_ORDER_USED, size: 100}, set)
	}
}
