package browser

import (
	"fmt"
	"testing"
	"time"
)

func TestPhoneNeverScrollsSideways(t *testing.T) {
	for _, regions := range []int{1, 3, 5, 8} {
		for _, width := range []int64{320, 390, 720} {
			t.Run(fmt.Sprintf("%d regions, %d px", regions, width), func(t *testing.T) {
				names := []string{"eu-west", "us-east", "ap-south", "sa-east", "af-south", "eu-north", "us-west", "ap-southeast-with-a-long-name"}[:regions]
				n := newFakeNode(t, names...)
				fillRegions(n)
				if regions > 1 {
					n.hear(names[regions-1], time.Minute)
				}
				p := open(t, n.URL, "", screen{width: width, height: 844})
				p.wait("rows", `document.querySelectorAll('#quotas tbody tr').length === 3`)
				p.check("quotas", overflow)
				if regions > 1 {
					p.check("cut off first", `document.querySelector('.strip').scrollLeft === 0 && document.querySelector('.off').getBoundingClientRect().left < 40 ? '' : 'the region cut off is not in sight'`)
				}
				p.check("targets", smallTargets)
				p.shoot(fmt.Sprintf("phone-%d-%d", regions, width))
				p.do(goTo("#q/daily%2Fsk_over"))
				p.wait("panel", `document.querySelector('#panel tbody tr')`)
				p.check("panel", overflow)
				p.check("targets in the panel", smallTargets)
				p.do(goTo("#rules-page"))
				p.wait("rules", `document.querySelector('#view-rules tbody tr')`)
				p.check("rules", overflow)
			})
		}
	}
}

func fillRegions(n *fakeNode) {
	n.add("daily", "sk_over", 300, 80, 70, 60, 50, 40, 30, 20, 10)
	n.add("daily", "sk_a_key_so_long_that_no_phone_has_room_for_it_and_then_some_more", 1000, 10, 20, 30, 40, 50, 60, 70, 80)
	n.add("payouts", "acct", 0, 5)
}

// check runs an expression that names what is wrong.
func (p *dashboardPage) check(what, expression string) {
	p.t.Helper()
	if wrong := eval[string](p, expression); wrong != "" {
		p.shoot("wrong-" + what)
		p.t.Errorf("%s: %s", what, wrong)
	}
}

// smallTargets names visible controls under 40 px, which a thumb misses.
const smallTargets = `[...document.querySelectorAll('button, select, input, .tabs a, #quotas a')].filter(e => {
	const r = e.getBoundingClientRect();
	return r.width > 0 && !e.closest('[inert]') && r.height < 39.5;
}).map(e => e.tagName + '#' + e.id + ' ' + e.textContent.slice(0, 20) + ' ' + e.getBoundingClientRect().height).slice(0, 5).join(', ')`

// lowContrast names text under 4.5:1 against the surface it stands on.
const lowContrast = `(() => {
	const c = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
	const rgba = color => { c.clearRect(0, 0, 1, 1); c.fillStyle = color; c.fillRect(0, 0, 1, 1); return [...c.getImageData(0, 0, 1, 1).data]; };
	const light = ([r, g, b]) => { const f = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; return .2126 * f(r) + .7152 * f(g) + .0722 * f(b); };
	const over = (a, b) => a.slice(0, 3).map((v, i) => v * a[3] / 255 + b[i] * (1 - a[3] / 255)).concat(255);
	const surface = e => e ? over(rgba(getComputedStyle(e).backgroundColor), e === document.documentElement ? [255, 255, 255, 255] : surface(e.parentElement)) : [255, 255, 255, 255];
	const bad = new Set();
	for (const e of document.querySelectorAll('body *')) {
		if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility() || e.closest('.vh, [disabled], .skip')) continue;
		const back = surface(e), ink = over(rgba(getComputedStyle(e).color), back), [a, b] = [light(ink), light(back)].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
		if (ratio < 4.5) bad.add(e.tagName + '.' + e.className + ' "' + e.textContent.slice(0, 20) + '" ' + ratio.toFixed(2));
	}
	return [...bad].slice(0, 8).join('; ');
})()`

// lowMarks names regions' hues under 3:1 against the surface.
const lowMarks = `[...document.querySelectorAll('.reg .sw')].map(e => {
	const c = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
	const rgb = color => { c.fillStyle = color; c.fillRect(0, 0, 1, 1); return [...c.getImageData(0, 0, 1, 1).data]; };
	const light = ([r, g, b]) => { const f = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; return .2126 * f(r) + .7152 * f(g) + .0722 * f(b); };
	const [a, b] = [light(rgb(getComputedStyle(e).backgroundColor)), light(rgb(getComputedStyle(document.querySelector('.card')).backgroundColor))].sort((x, y) => y - x);
	return [e.closest('.reg').dataset.region, (a + .05) / (b + .05)];
}).filter(([, ratio]) => ratio < 3).join('; ')`

func TestContrast(t *testing.T) {
	for name, dark := range map[string]bool{"light": false, "dark": true} {
		t.Run(name, func(t *testing.T) {
			n := newFakeNode(t, "eu-west", "us-east", "ap-south", "sa-east", "af-south")
			fill(n, 5)
			n.hear("us-east", 5*time.Second)
			n.hear("sa-east", time.Minute)
			p := open(t, n.URL, "#q/daily%2Fsk_9f3ac21", screen{width: 1600, height: 1000, dark: dark})
			p.wait("everything", `document.querySelector('.off') && document.querySelector('#panel tbody tr')`)
			p.check("text", lowContrast)
			p.check("marks", lowMarks)
			n.hear("sa-east", time.Second)
			p.wait("the outcome", `document.querySelector('.say.healed')`)
			p.check("text after healing", lowContrast)
			p.do(goTo("#rules-page"))
			p.wait("rules", `document.querySelector('#view-rules tbody tr')`)
			p.check("text of rules", lowContrast)
		})
	}
}

func TestTableStaysATableForReaders(t *testing.T) {
	n := newFakeNode(t, "eu-west", "us-east", "ap-south")
	fill(n, 0)
	p := open(t, n.URL, "", phone)
	p.wait("rows", `document.querySelectorAll('#quotas tbody tr').length === 6`)
	p.check("roles", `[...document.querySelectorAll('#quotas tbody tr')].every(tr => tr.getAttribute('role') === 'row' && tr.children[0].getAttribute('role') === 'rowheader' && [...tr.children].slice(1).every(td => td.getAttribute('role') === 'cell')) ? '' : 'a card has lost its role'`)
	p.check("names", `[...document.querySelectorAll('button, input, select, a, [role=img]')].filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length)).map(e => e.outerHTML.slice(0, 80)).join()`)
	p.check("caption", `document.querySelectorAll('table').length === [...document.querySelectorAll('table')].filter(t => t.caption?.textContent).length ? '' : 'a table has no caption'`)
	p.do(goTo("#q/daily%2Fsk_9f3ac21"))
	p.wait("focus in the panel, which covers the rest", `document.activeElement.closest('#panel') && main.inert`)
}
