package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const focusedRow = `document.activeElement.closest('tr')?.dataset.id`

func TestSearchAndPaging(t *testing.T) {
	n := newFakeNode(t, "eu-west", "us-east", "ap-south")
	fill(n, 114) // 120 in all: 50, 50, 20
	p := checkAgreement(t, n.URL)
	span := func(want string) {
		t.Helper()
		p.wait(want, fmt.Sprintf(`document.querySelector('#span').textContent === %q`, want))
	}
	first := p.rows()[0].ID
	p.click("#next")
	span("51–100 of 120")
	p.click("#next")
	span("101–120 of 120")
	if !eval[bool](p, `document.querySelector('#next').disabled && document.querySelectorAll('#quotas tbody tr').length === 20`) {
		t.Error("the last page has no 20 rows or offers a next one")
	}
	p.press("[")
	span("51–100 of 120")
	p.press("[")
	span("1–50 of 120")
	if got := p.rows()[0].ID; got != first || !eval[bool](p, `document.querySelector('#prev').disabled`) {
		t.Errorf("back on the first page the first row is %s, want %s", got, first)
	}
	p.press("]")
	span("51–100 of 120")

	p.press("/")
	p.press("acct_")
	span("1–2 of 2")
	if got := eval[string](p, `document.querySelector('#say').textContent`); got != "1–2 of 2" {
		t.Errorf("screen readers heard %q, want the result", got)
	}
	p.press("nothing")
	p.wait("no match", `document.querySelector('#blank h3').textContent === 'No quota matches “acct_nothing”'`)
	p.press(kb.Escape)
	span("1–50 of 120")
	p.do(chromedp.Evaluate[chromedp.Void](`rule.value = 'payouts'; rule.dispatchEvent(new Event('change'))`))
	span("1–2 of 2")
}

func TestOrders(t *testing.T) {
	n := newFakeNode(t, "eu-west")
	n.add("daily", "b", 100, 10)
	n.add("daily", "a", 100, 5)
	n.add("daily", "c", 100, 50)
	p := checkAgreement(t, n.URL)
	order := func(want string) {
		t.Helper()
		p.wait(want, fmt.Sprintf(`[...document.querySelectorAll('#quotas tbody tr')].map(tr => tr.dataset.id.slice(6)).join('') === %q`, want))
	}
	order("cba")
	p.click(`th[data-order=QUOTA_ORDER_UNSPECIFIED] button`)
	order("abc")
	if got := eval[string](p, `[...document.querySelectorAll('th[aria-sort]')].map(th => th.textContent + th.getAttribute('aria-sort')).join()`); got != "Quotaascending" {
		t.Errorf("aria-sort says %q", got)
	}
	p.click(`th[data-order=QUOTA_ORDER_USED] button`)
	order("cba")
}

func TestOrderIsHeldUntilAsked(t *testing.T) {
	n := newFakeNode(t, "eu-west")
	a, b := n.add("daily", "a", 100, 50), n.add("daily", "b", 100, 10)
	n.add("daily", "c", 100, 5)
	p := checkAgreement(t, n.URL)
	n.take(b, 0, 60)
	p.wait("the new number", `document.querySelector('tr[data-id="daily/b"] [data-v=used]').textContent === '70'`)
	p.wait("the offer", `document.querySelector('#resort').textContent === 'Order held, 1 would move · re-sort' && !document.querySelector('#resort').hidden`)
	if got := p.rows()[0].ID; got != "daily/a" {
		t.Fatalf("a row moved by itself: %s is first", got)
	}
	n.add("daily", "d", 100, 99)
	p.wait("a new quota at the end", `[...document.querySelectorAll('#quotas tbody tr')].at(-1).dataset.id === 'daily/d'`)
	n.take(a, 0, 1)
	p.click("#resort")
	p.wait("sorted", `[...document.querySelectorAll('#quotas tbody tr')].map(tr => tr.dataset.id.slice(6)).join('') === 'dbac'`)
	p.wait("no offer", `document.querySelector('#resort').hidden`)
}

func TestKeys(t *testing.T) {
	n := newFakeNode(t, "eu-west", "us-east", "ap-south")
	fill(n, 60)
	p := checkAgreement(t, n.URL)
	rows := p.rows()
	at := func(i int) {
		t.Helper()
		p.wait("focus", fmt.Sprintf(`%s === %q && document.querySelectorAll('#quotas a[tabindex="0"]').length === 1`, focusedRow, rows[i].ID))
	}
	p.press("j")
	at(0)
	p.press("jj")
	at(2)
	p.press("k")
	at(1)
	p.press(kb.ArrowDown)
	at(2)
	p.press(kb.Enter)
	p.wait("the panel", fmt.Sprintf(`!panel.hidden && decodeURIComponent(location.hash) === '#q/%s'`, rows[2].ID))
	p.press("j")
	p.wait("the next in the panel", fmt.Sprintf(`decodeURIComponent(location.hash) === '#q/%s' && document.querySelector('tr[aria-selected=true]').dataset.id === %q`, rows[3].ID, rows[3].ID))
	p.press(kb.Escape)
	p.wait("closed", `panel.hidden`)
	at(3)

	p.press("?")
	p.wait("help", `help.open`)
	p.press("j")
	at3 := eval[bool](p, `help.open`)
	if !at3 {
		t.Error("a key closed the help")
	}
	p.press(kb.Escape)
	p.wait("help closed", `!help.open`)

	p.press("t")
	p.wait("dark", `document.documentElement.dataset.theme === 'dark'`)
	p.press("/")
	p.press("t?pj")
	p.wait("written, not obeyed", `search.value === 't?pj' && !help.open && document.documentElement.dataset.theme === 'dark'`)
	p.press(kb.Escape)
	p.wait("cleared", `search.value === '' && document.activeElement !== search`)
}

func TestPauseHoldsNumbers(t *testing.T) {
	n := newFakeNode(t, "eu-west")
	q := n.add("daily", "a", 1000, 50)
	p := checkAgreement(t, n.URL)
	p.press("p")
	p.wait("paused", `live.textContent === 'Paused' && live.getAttribute('aria-pressed') === 'true'`)
	n.take(q, 0, 7)
	n.waitForWatchers(t, 0)
	if got := p.row("daily/a").Used; got != "50" {
		t.Errorf("paused, the number became %s", got)
	}
	p.press("p")
	p.wait("live", `live.textContent === 'Live' && document.querySelector('[data-v=used]').textContent === '57'`)
}

func TestLinkToOneQuota(t *testing.T) {
	n := newFakeNode(t, "eu-west", "us-east", "ap-south")
	fill(n, 300)
	far := n.add("daily", "team/a b,c%2F", 100000, 3, 2, 1)
	p := open(t, n.URL, "#q/daily%2Fteam%2Fa%20b%2Cc%252F", desktop)
	cells := `[...document.querySelectorAll('#panel tbody tr, #panel tfoot tr')].map(tr => [...tr.children].slice(1, 4).map(td => td.textContent).join(' ')).join('|')`
	p.wait("a quota that is on a later page", cells+` === '3 0 3|2 0 2|1 0 1|6 0 6'`)
	n.change(func() { far.ByRegion[1].GivenBack = 1; settle(far) })
	p.wait("its change", cells+` === '3 0 3|2 1 1|1 0 1|6 1 5'`)
	if got := eval[string](p, `document.querySelector('#panel h2').textContent`); !strings.Contains(got, "team/a b,c%2F") {
		t.Errorf("the panel is of %q", got)
	}
	p.do(goTo("#q/absent%2Fkey"))
	p.wait("why there is nothing", `document.querySelector('.blank-note')?.textContent === 'No rule of this name has a quota here.'`)
	p.allow("404")
	p.do(goTo("#q/%E0%A4%A"))
	p.wait("a broken link closes the panel", `panel.hidden`)
}

func TestThemeFollowsTheSystemUntilChosen(t *testing.T) {
	n := newFakeNode(t, "eu-west")
	n.add("daily", "a", 1000, 50)
	background := `getComputedStyle(document.documentElement).backgroundColor`
	p := open(t, n.URL, "", screen{width: 1440, height: 1000, dark: true})
	p.wait("dark by the system", background+` === 'rgb(12, 14, 16)'`)
	p.click("#theme")
	p.wait("light by choice", background+` === 'rgb(246, 246, 244)'`)
	p.do(chromedp.Reload())
	p.wait("still light", background+` === 'rgb(246, 246, 244)' && document.querySelector('tr[data-id]')`)
}

// hostile keys: markup, quotes, another direction, what cannot be seen, what is long.
var hostile = map[string]string{
	`<img src=x onerror=alert(1)>`:         `<img src=x onerror=alert(1)>`,
	`"><script>alert(1)</script>`:          `"><script>alert(1)</script>`,
	`' onmouseover='alert(1)`:              `' onmouseover='alert(1)`,
	`{{constructor.constructor('x')()}}`:   `{{constructor.constructor('x')()}}`,
	`مفتاح`:                                `مفتاح`,
	"sk_\u202egnp.exe":                     "sk_⟨U+202E⟩gnp.exe",
	"zero\u200bwidth":                      "zero⟨U+200B⟩width",
	"line\nbreak":                          "line⟨U+000A⟩break",
	"👩‍👩‍👧‍👦🇪🇺":                            "👩‍👩‍👧‍👦🇪🇺",
	" ":                                    "␠",
	"javascript:alert(1)":                  "javascript:alert(1)",
	strings.Repeat("long", 200):            strings.Repeat("long", 200),
	"&lt;b&gt;&amp;":                       "&lt;b&gt;&amp;",
	"../../v1/quotas?search=\\,x#q/other%": "../../v1/quotas?search=\\,x#q/other%",
}

func TestHostileKeysAreText(t *testing.T) {
	n := newFakeNode(t, "eu-west", "us-east")
	for key := range hostile {
		n.add("daily", key, 1000, 400, 200)
	}
	p := checkAgreement(t, n.URL)
	if got := eval[int](p, `document.querySelectorAll('#quotas :is(img, script, iframe), #quotas [onmouseover], #quotas [onerror]').length`); got != 0 {
		t.Errorf("%d elements were made from keys", got)
	}
	texts := eval[map[string]string](p, `Object.fromEntries([...document.querySelectorAll('#quotas tbody tr')].map(tr => [tr.dataset.id, tr.querySelector('code').textContent]))`)
	for key, want := range hostile {
		if got := texts["daily/"+key]; got != want {
			t.Errorf("%q is shown as %q, want %q", key, got, want)
		}
	}
	if got := eval[bool](p, `[...document.querySelectorAll('#quotas code')].every(c => getComputedStyle(c.parentElement).unicodeBidi === 'isolate')`); !got {
		t.Error("a key can reorder the text beside it")
	}
	if got := eval[string](p, overflow); got != "" {
		t.Errorf("wider than the screen: %s", got)
	}
	p.shoot("hostile")
	for key := range hostile {
		p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector('tr[data-id="' + CSS.escape(%q) + '"] a').click()`, "daily/"+key)))
		p.wait("panel of "+key, fmt.Sprintf(`document.querySelector('#panel h2 code').textContent === %q && document.querySelectorAll('#panel tbody tr').length === 2`, hostile[key]))
	}
}
