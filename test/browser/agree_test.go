package browser

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	weirv1 "weir/proto/weir/v1"
)

// shownQuota is one row as the page shows it.
type shownQuota struct {
	ID, Used, Left, Ends, Over, Reset string
	ByRegion                          string // the bar's label
}

const readRows = `[...document.querySelectorAll('#quotas tbody tr')].map(tr => {
	const text = v => tr.querySelector('[data-v=' + v + ']').textContent;
	return {ID: tr.dataset.id, Used: text('used'), Left: text('left'), Ends: text('ends'), Over: text('over'), Reset: text('reset'), ByRegion: tr.querySelector('.qb').getAttribute('aria-label')};
})`

func (p *dashboardPage) rows() []shownQuota {
	p.t.Helper()
	return eval[[]shownQuota](p, readRows)
}

func (p *dashboardPage) row(id string) shownQuota {
	p.t.Helper()
	rows := p.rows()
	i := slices.IndexFunc(rows, func(r shownQuota) bool { return r.ID == id })
	if i < 0 {
		p.t.Fatalf("no row %q among %d", id, len(rows))
	}
	return rows[i]
}

// plain undoes the grouping of digits.
func plain(shown string) string {
	return strings.NewReplacer("\u202f", "", "\u00a0", " ", "\u2212", "-").Replace(shown)
}

// listQuotas asks the node at baseURL for the page that the dashboard shows first.
func listQuotas(t *testing.T, baseURL string) *weirv1.ListQuotasResponse {
	t.Helper()
	r, err := http.Get(baseURL + "/v1/quotas?order=QUOTA_ORDER_USED&pageSize=50")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	page := new(weirv1.ListQuotasResponse)
	if err := protojson.Unmarshal(body, page); err != nil {
		t.Fatal(err)
	}
	return page
}

// disagreement compares a page's rows with the node's answer; empty is none.
func disagreement(rows []shownQuota, page *weirv1.ListQuotasResponse) string {
	shown := map[string]shownQuota{}
	for _, r := range rows {
		shown[r.ID] = r
	}
	for _, q := range page.Quotas {
		id := q.Rule + "/" + q.Key
		r, ok := shown[id]
		switch {
		case !ok:
			return id + " is not shown"
		case plain(r.Used) != strconv.FormatInt(q.Used, 10):
			return fmt.Sprintf("%s: %s taken, want %d", id, r.Used, q.Used)
		case q.Limit > 0 && plain(r.Left) != fmt.Sprintf("%d left", q.Remaining):
			return fmt.Sprintf("%s: %q, want %d left", id, r.Left, q.Remaining)
		}
		for _, use := range q.ByRegion {
			part := fmt.Sprintf("; %s %d taken", use.Region, use.Taken-use.GivenBack)
			if !strings.Contains(plain(r.ByRegion), part) {
				return fmt.Sprintf("%s: the bar says %q, want %q in it", id, r.ByRegion, part)
			}
		}
	}
	return ""
}

// checkAgreement opens the dashboard of the node at baseURL and waits until it
// shows what that node answers, by region. It holds for any node whose quotas
// stand still or change slower than two looks at it.
func checkAgreement(t *testing.T, baseURL string) *dashboardPage {
	t.Helper()
	p := open(t, baseURL, "", desktop)
	p.wait("live", `document.querySelector('#live').textContent === 'Live'`)
	p.waitUntil("the page agrees with the node", func() (bool, string) {
		wrong := disagreement(p.rows(), listQuotas(t, baseURL))
		return wrong == "", wrong
	})
	return p
}

// checkKeepsUp opens the dashboard of the node at baseURL while its quotas grow
// (nothing is given back) and checks, a few times over, that within two seconds
// the page shows at least what the node said before, and never more than the
// node says after. Two seconds: one that the node waits between two answers,
// one for the way and the drawing.
func checkKeepsUp(t *testing.T, baseURL string) {
	t.Helper()
	p := open(t, baseURL, "", desktop)
	p.wait("rows", `document.querySelector('#quotas tbody tr')`)
	for range 3 {
		before, asked := listQuotas(t, baseURL), time.Now()
		var shown map[string]int64
		p.waitUntil("the page keeps up", func() (bool, string) {
			shown = p.used()
			return compareUsed(before, func(id string, used int64) bool { return shown[id] >= used })
		})
		if took := time.Since(asked); took > 2*time.Second {
			t.Errorf("the page was %v behind", took)
		}
		if ok, id := compareUsed(listQuotas(t, baseURL), func(id string, used int64) bool { return shown[id] <= used }); !ok {
			t.Errorf("the page shows %d for %s, more than the node knows", shown[id], id)
		}
	}
}

// used gives the units taken that each row shows.
func (p *dashboardPage) used() map[string]int64 {
	p.t.Helper()
	used := map[string]int64{}
	for _, r := range p.rows() {
		n, err := strconv.ParseInt(plain(r.Used), 10, 64)
		if err != nil {
			p.t.Fatalf("%s shows %q taken", r.ID, r.Used)
		}
		used[r.ID] = n
	}
	return used
}

// compareUsed asks ok of every quota, and names the first that it is not true of.
func compareUsed(page *weirv1.ListQuotasResponse, ok func(id string, used int64) bool) (bool, string) {
	for _, q := range page.Quotas {
		if id := q.Rule + "/" + q.Key; !ok(id, q.Used) {
			return false, id
		}
	}
	return true, ""
}

func TestPageKeepsUpWithTraffic(t *testing.T) {
	n := newFakeNode(t, "eu-west", "us-east", "ap-south")
	traffic(t, n, fill(n, 30), 20, 31, 9)
	checkKeepsUp(t, n.URL)
}

func TestNumbersAreTheNodes(t *testing.T) {
	n := newFakeNode(t, "eu-west", "us-east", "ap-south")
	quotas := fill(n, 200)
	n.change(func() {
		quotas[4].ByRegion[1].GivenBack = 41234
		settle(quotas[4])
	})
	p := checkAgreement(t, n.URL)
	widths := eval[[]float64](p, `[...document.querySelectorAll('tr[data-id="daily/sk_live_b20d4"] .tr i:not([hidden])')].map(i => i.getBoundingClientRect().width / i.parentElement.getBoundingClientRect().width)`)
	for i, units := range []float64{71200, 88410 - 41234, 18900, 250000 - 137276} {
		if i >= len(widths) || math.Abs(widths[i]-units/250000) > 0.01 {
			t.Fatalf("the bar's parts are %v of its width, want part %d to be %.3f", widths, i, units/250000)
		}
	}
	if got := eval[string](p, `document.querySelector('#span').textContent`); got != "1–50 of 206" {
		t.Errorf("the page's span is %q, want 1–50 of 206", got)
	}
	if got := plain(p.row("payouts/acct_fjord").Over); got != "not bounded" {
		t.Errorf("can go over by %q, want not bounded", got)
	}
	if got := p.row("payouts/acct_fjord").Ends; got != "now" {
		t.Errorf("a quota that is over runs out %q, want now", got)
	}
	for id, tag := range map[string]string{"payouts/acct_fjord": "37 over", "daily/sk_test_77be1": "exhausted", "daily/sk_9f3ac21": "near limit", "daily/sk_live_00000": ""} {
		if got := eval[string](p, fmt.Sprintf(`document.querySelector('tr[data-id=%q] .tag:not([hidden])')?.textContent ?? ''`, id)); got != tag {
			t.Errorf("%s is tagged %q, want %q", id, got, tag)
		}
	}
}

// TestChangeShowsWithinItsSecond: the node sends once a second, so two are the
// bound for a change, its way and its drawing.
func TestChangeShowsWithinItsSecond(t *testing.T) {
	n := newFakeNode(t, "eu-west", "us-east", "ap-south")
	quotas := fill(n, 0)
	p := checkAgreement(t, n.URL)
	for i := range 5 {
		n.take(quotas[4], i%3, 17)
		changed := time.Now()
		want := strconv.FormatInt(178510+int64(i+1)*17, 10)
		p.waitUntil("the change", func() (bool, string) {
			got := plain(p.row("daily/sk_live_b20d4").Used)
			return got == want, got + ", want " + want
		})
		if took := time.Since(changed); took > 2*time.Second {
			t.Errorf("a change took %v to show", took)
		}
	}
}

func TestRatesComeFromSamples(t *testing.T) {
	n := newFakeNode(t, "eu-west", "us-east")
	q := n.add("daily", "steady", 1000000, 1000, 1000)
	traffic(t, n, []*weirv1.Quota{q}, 10, 30) // about 100 and 300 a second
	n.add("daily", "idle", 1000000, 5, 5)
	p := open(t, n.URL, "", desktop)
	p.wait("a rate", `document.querySelector('.reg .big b').textContent > '0' && document.querySelector('[data-v=ends]').textContent.startsWith('in ')`)
	p.waitUntil("regions' rates", func() (bool, string) {
		rates := eval[[]string](p, `[...document.querySelectorAll('.reg .big b')].map(b => b.textContent)`)
		eu, _ := strconv.ParseFloat(plain(rates[0]), 64)
		us, _ := strconv.ParseFloat(plain(rates[1]), 64)
		return eu > 60 && eu < 180 && us > 180 && us < 480, strings.Join(rates, ", ")
	})
	if got := p.row("daily/idle").Ends; got != "not before reset" {
		t.Errorf("an idle quota runs out %q, want not before reset", got)
	}
}
