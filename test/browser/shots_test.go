package browser

import (
	"fmt"
	"testing"
	"time"

	weirv1 "weir/proto/weir/v1"
)

// fill gives a node quotas of every kind: hundreds ordinary, and some near
// their limit, exhausted and over.
func fill(n *fakeNode, ordinary int) []*weirv1.Quota {
	quotas := []*weirv1.Quota{
		n.add("payouts", "acct_fjord", 20000, 8800, 9037, 2200),
		n.add("daily", "sk_9f3ac21", 100000, 48210, 31876, 16904),
		n.add("daily", "sk_test_77be1", 10000, 6120, 3680, 200),
		n.add("payouts", "acct_meridian", 20000, 9120, 6204, 2776),
		n.add("daily", "sk_live_b20d4", 250000, 71200, 88410, 18900),
		n.add("exports", "", 1000000, 211020, 314200, 91800),
	}
	for i := range ordinary {
		used := int64(70000 * (ordinary - i) / (ordinary + 1))
		quotas = append(quotas, n.add("daily", fmt.Sprintf("sk_live_%05x", i*7919%0xfffff), 100000, used/2, used/3, used/6))
	}
	return quotas
}

// traffic takes units again and again until the test ends.
func traffic(t *testing.T, n *fakeNode, quotas []*weirv1.Quota, units ...int64) {
	t.Helper()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for i := int64(0); ; i++ {
			select {
			case <-stop:
				return
			case <-tick.C:
				for k, u := range units {
					n.take(quotas[(int(i)+k)%len(quotas)], k, u*(8+(i*7+int64(k)*5)%9)/10)
				}
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-stopped
	})
}

// TestStatesWithoutComplaint walks the page through what it can look like, on
// large and small screens and in both themes; with -shots it leaves pictures.
func TestStatesWithoutComplaint(t *testing.T) {
	screens := map[string]screen{
		"desktop-light": desktop, "desktop-dark": {width: 1440, height: 1000, dark: true},
		"tablet-dark": {width: 1024, height: 768, dark: true},
		"phone-light": {width: 390, height: 1500}, "phone-dark": {width: 390, height: 1500, dark: true},
	}
	for name, s := range screens {
		t.Run(name, func(t *testing.T) {
			n := newFakeNode(t, "eu-west", "us-east", "ap-south")
			quotas := fill(n, 300)
			traffic(t, n, quotas[1:6], 20, 31, 9)
			p := open(t, n.URL, "", s)
			p.wait("rates", `document.querySelector('.reg .big b').textContent !== '–' && document.querySelector('[data-v=ends]').textContent !== '–'`)
			if *shots != "" {
				p.wait("a spark line worth a picture", `document.querySelector('.reg .big path:nth-child(2)').getAttribute('d').split('L').length > 7`)
			}
			p.shoot(name)
			n.hear("us-east", 4200*time.Millisecond)
			n.hear("ap-south", 38*time.Second)
			p.wait("an island", `document.querySelector('.reg.cut')`)
			p.shoot(name + "-cut")
			p.do(goTo("#q/daily%2Fsk_9f3ac21"))
			p.wait("numbers in the panel", `document.querySelector('#panel tbody tr')`)
			p.shoot(name + "-panel")
			n.hear("ap-south", 100*time.Millisecond)
			n.hear("us-east", 100*time.Millisecond)
			p.do(goTo("#quotas-page"))
			p.wait("the outcome", `document.querySelector('.say.healed')`)
			p.shoot(name + "-healed")
			p.do(goTo("#rules-page"))
			p.wait("rules", `document.querySelectorAll('#view-rules tbody tr').length === 3`)
			p.shoot(name + "-rules")
		})
	}
}
