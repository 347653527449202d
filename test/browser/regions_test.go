package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const stateOf = `document.querySelector('.reg[data-region="%s"] .st').textContent`

func TestCutOffAppearsAndClears(t *testing.T) {
	n := newFakeNode(t, "eu-west", "us-east", "ap-south")
	quotas := fill(n, 0)
	p := checkAgreement(t, n.URL)
	state := fmt.Sprintf(stateOf, "ap-south")
	p.wait("in touch", state+` === 'in touch 0.2\u00a0s'`)

	n.hear("ap-south", 4200*time.Millisecond)
	p.wait("behind", state+`.endsWith('behind') && !document.querySelector('.off')`)
	if got := eval[bool](p, `document.querySelector('.reach') === null`); !got {
		t.Error("a region that is only behind has a sentence")
	}

	n.hear("ap-south", 38*time.Second)
	p.wait("cut off", state+` === 'cut off 38\u00a0s'`)
	sentence := eval[string](p, `document.querySelector('#news .say:not([hidden]) p').textContent`)
	if want := "ap-south has not been heard for 38\u00a0s."; !strings.HasPrefix(sentence, want) {
		t.Errorf("the sentence is %q, want %q first", sentence, want)
	}
	if !eval[bool](p, `document.querySelector('.off .reg').dataset.region === 'ap-south' && document.querySelectorAll('.isle').length === 2`) {
		t.Error("ap-south has not left the strip")
	}
	p.wait("last known", `document.querySelector('.off .big span').textContent.includes('last known')`)
	before := p.row("payouts/acct_fjord").Used
	p.wait("hot hatch", `document.querySelector('.qb').classList.contains('hot')`)

	n.take(quotas[0], 2, 100)
	n.hear("ap-south", 100*time.Millisecond)
	p.wait("back in the strip", `!document.querySelector('.off') && `+state+`.startsWith('in touch')`)
	outcome := eval[string](p, `document.querySelector('.say.healed p').textContent`)
	if !strings.Contains(outcome, "ap-south is heard again after") || !strings.Contains(outcome, "137 units over, in 1 quota.") {
		t.Errorf("the outcome is %q; %s were taken before", outcome, before)
	}
	if eval[string](p, `document.querySelector('#say').textContent`) == "" {
		t.Error("screen readers heard nothing of it")
	}
	p.click(".say.healed button")
	p.wait("closed", `!document.querySelector('.say.healed')`)
}

func TestTwoCutOffAndOneNeverHeard(t *testing.T) {
	n := newFakeNode(t, "eu-west", "us-east", "ap-south", "sa-east")
	fill(n, 0)
	p := open(t, n.URL, "", desktop)
	n.hear("us-east", 12*time.Second)
	n.hear("ap-south", -1)
	p.wait("two islands", `document.querySelectorAll('.off .isle').length === 2`)
	got := eval[string](p, `document.querySelector('#news .say:not([hidden]) p').textContent`)
	if !strings.HasPrefix(plain(got), "us-east (12 s) and ap-south (never) have not been heard.") {
		t.Errorf("the sentence is %q", got)
	}
	p.shoot("two-cut-off")
	p.wait("never heard", fmt.Sprintf(stateOf, "ap-south")+` === 'cut off, never heard'`)
}

func TestRegionMarksDiffer(t *testing.T) {
	for _, count := range []int{1, 3, 5, 8} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			names := []string{"eu-west", "us-east", "ap-south", "sa-east", "af-south", "eu-north", "us-west", "ap-east"}[:count]
			n := newFakeNode(t, names...)
			n.add("daily", "sk_all", 1000, 40, 50, 60, 70, 80, 90, 100, 110)
			p := open(t, n.URL, "", desktop)
			p.wait("all regions", fmt.Sprintf(`document.querySelectorAll('.reg').length === %d && document.querySelectorAll('.qb .u').length === %d`, count, count))
			p.shoot(fmt.Sprintf("regions-%d", count))
			background := `[...document.querySelectorAll('%s')].map(e => getComputedStyle(e).background)`
			inStrip := eval[[]string](p, fmt.Sprintf(background, ".reg .sw"))
			for i, a := range inStrip {
				if j := slices.Index(inStrip, a); j != i {
					t.Errorf("%s looks like %s: %s", names[i], names[j], a)
				}
			}
			for _, place := range []string{".key .sw.u", ".qb .u"} {
				if got := eval[[]string](p, fmt.Sprintf(background, place)); !slices.Equal(got, inStrip) {
					t.Errorf("marks of %s differ from the strip's: %v, want %v", place, got, inStrip)
				}
			}
			if got := eval[[]string](p, `[...document.querySelectorAll('.reg')].map(e => e.dataset.region)`); !slices.Equal(got, names) {
				t.Errorf("regions stand as %v, want the node's order %v", got, names)
			}
			if wide := eval[string](p, overflow); wide != "" {
				t.Errorf("wider than the screen: %s", wide)
			}
		})
	}
}

// overflow names what makes the page scroll sideways; empty if nothing does.
const overflow = `(() => {
	const width = document.documentElement.clientWidth;
	if (document.documentElement.scrollWidth <= width) return '';
	return [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > width + 1 && !e.closest('.strip')).map(e => e.tagName + '.' + e.className).slice(0, 5).join(', ') || 'something';
})()`

func TestLostNodeLeavesOldNumbers(t *testing.T) {
	for name, s := range map[string]screen{"desktop": desktop, "phone": {width: 320, height: 844}} {
		t.Run(name, func(t *testing.T) { loseNode(t, s) })
	}
}

func loseNode(t *testing.T, s screen) {
	n := newFakeNode(t, "eu-west", "us-east", "ap-south")
	fill(n, 0)
	p := open(t, n.URL, "", s)
	p.allow("Failed to load resource")
	p.wait("rows", `document.querySelectorAll('#quotas tbody tr').length === 6`)
	used := p.row("payouts/acct_fjord").Used
	n.refuse(true)
	p.wait("not connected", `/^Not connected, last heard \d+\u00a0s ago$/.test(document.querySelector('#live').textContent)`)
	p.wait("its age grows", `/last heard [2-9]/.test(document.querySelector('#live').textContent)`)
	p.shoot(fmt.Sprintf("lost-%d", s.width))
	p.check("room", overflow)
	p.check("contrast of what is greyed", lowContrast)
	if got := p.row("payouts/acct_fjord").Used; got != used {
		t.Errorf("the number became %q, want the old %q", got, used)
	}
	if !eval[bool](p, `document.body.classList.contains('old') && !document.querySelector('.say.lost').hidden`) {
		t.Error("old numbers look new")
	}
	n.refuse(false)
	p.wait("live again", `document.querySelector('#live').textContent === 'Live' && document.querySelector('.say.lost').hidden`)
}
