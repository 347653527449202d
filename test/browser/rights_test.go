package browser

import (
	"fmt"
	"slices"
	"testing"
	"time"

	weirv1 "weir/proto/weir/v1"
)

// bound gives a quota an overshoot in units, and its regions equal shares and
// what others gave them.
func (n *fakeNode) bound(q *weirv1.Quota, overshoot, exposure int64, gave func(uses []*weirv1.RegionUse)) {
	n.change(func() {
		q.OvershootUnbounded, q.Overshoot, q.Exposure = false, overshoot, exposure
		gave(q.ByRegion)
		for _, u := range q.ByRegion {
			u.Share = (q.Limit + overshoot) / int64(len(q.ByRegion))
			u.Rights = u.Share + u.Granted - u.Taken + u.GivenBack
			for _, t := range u.GivenTo {
				u.Rights -= t.Units
			}
			for _, t := range u.ReceivedFrom {
				u.Rights += t.Units
			}
		}
	})
}

// transfer moves rights from one region to another.
func transfer(from, to *weirv1.RegionUse, units int64) {
	from.GivenTo = append(from.GivenTo, &weirv1.Transfer{Region: to.Region, Units: units})
	to.ReceivedFrom = append(to.ReceivedFrom, &weirv1.Transfer{Region: from.Region, Units: units})
}

const panelRow = `[...document.querySelectorAll('#panel tr[data-region="%s"] td')].map(td => td.textContent)`

// TestRightsAndExposure: what each region holds, where it came from, and what can
// go over, in the row, its bar and the panel; also while a region is cut off.
func TestRightsAndExposure(t *testing.T) {
	n := newFakeNode(t, "eu-west", "us-east", "ap-south")
	q := n.add("daily", "sk_rights", 29700, 9000, 12000, 3000)
	n.bound(q, 300, 250, func(uses []*weirv1.RegionUse) {
		transfer(uses[2], uses[1], 3000)
		uses[0].GivenBack = 200
		uses[0].Granted = 50
	})
	never := n.add("payouts", "acct_zero", 30000, 100, 100, 100)
	n.bound(never, 0, 0, func([]*weirv1.RegionUse) {})
	n.change(func() { settle(q) })

	p := open(t, n.URL, "", desktop)
	over := func(id string) string {
		return fmt.Sprintf(`document.querySelector('tr[data-id=%q] td[data-l="Can go over by"]').textContent`, id)
	}
	p.wait("exposure", over("daily/sk_rights")+` === 'at most 250of 300 allowed'`)
	p.wait("never over", over("payouts/acct_zero")+` === 'never overovershoot 0'`)
	label := plain(p.row("daily/sk_rights").ByRegion)
	want := "23800 of 29700 taken; 5900 left; can go over by 250 now; eu-west 8800 taken, 1250 rights left; us-east 12000 taken, 1000 rights left; ap-south 3000 taken, 4000 rights left"
	if label != want {
		t.Errorf("the bar says %q, want %q", label, want)
	}
	if got := eval[bool](p, `document.querySelector('tr[data-id="daily/sk_rights"] .qb').classList.contains('hot')`); got {
		t.Error("red though every region is in touch")
	}
	width := `(s => s.reduce((w, i) => w + i.getBoundingClientRect().width, 0))([...document.querySelectorAll('tr[data-id="daily/sk_rights"] .tr .%s')])`
	taken, rights := eval[float64](p, fmt.Sprintf(width, "u")), eval[float64](p, fmt.Sprintf(width, "t"))
	if share := taken / (taken + rights); share < 0.78 || share > 0.82 {
		t.Errorf("taken fills %.3f of the bar, want 0.80", share)
	}

	p.do(goTo("#q/daily%2Fsk_rights"))
	p.wait("the panel", `document.querySelectorAll('#panel tbody tr').length === 3`)
	for region, want := range map[string][]string{
		"eu-west":  {"10000", "9000", "200", "+50", "0", "1250", "here"},
		"us-east":  {"10000", "12000", "0", "+3000", "0", "1000", "0.2 s ago"},
		"ap-south": {"10000", "3000", "0", "0", "-3000", "4000", "0.2 s ago"},
	} {
		got := eval[[]string](p, fmt.Sprintf(panelRow, region))
		for i := range got {
			got[i] = plain(got[i])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the panel says %q, want %q", region, got, want)
		}
	}
	if got := eval[string](p, `document.querySelectorAll('#panel .fig dd')[3].textContent`); got != "250 of 300" {
		t.Errorf("the panel's figure is %q, want 250 of 300", got)
	}
	p.shoot("rights-panel")
	p.check("room", overflow)

	n.hear("ap-south", 38*time.Second)
	p.wait("its rights are outlined and the hatch is red", `document.querySelector('tr[data-id="daily/sk_rights"] .qb.hot .t.lost')`)
	p.wait("a note", `/ap-south holds 4.000 rights, as last known, and has not been heard; the others hold 2.250\./.test(document.querySelector('#panel .note').textContent)`)
	p.wait("a sentence", `document.querySelector('#news .say:not([hidden]) p').textContent.endsWith('It decides on its own rights; at most 250 units over, across 1 quota.')`)
	p.shoot("rights-cut")
	p.check("contrast", lowContrast)
}

// TestWantOfRights: a region that refuses for want of rights says so in words.
func TestWantOfRights(t *testing.T) {
	n := newFakeNode(t, "eu-west", "us-east")
	q := n.add("daily", "sk_want", 10000, 5000, 1000)
	n.bound(q, 100, 100, func(uses []*weirv1.RegionUse) { uses[0].Unmet = 70 })
	p := open(t, n.URL, "#q/daily%2Fsk_want", desktop)
	p.wait("the tag", `document.querySelector('tr[data-id="daily/sk_want"] .tag').textContent === 'no rights'`)
	p.wait("the words", `[...document.querySelectorAll('#panel .note')].some(e => e.textContent.replaceAll('\u202f', '') ===
		'eu-west refuses: it was asked for 70 units and has rights to 50. 4000 are left, and another region must give first (quota_rights_exhausted).')`)
}
