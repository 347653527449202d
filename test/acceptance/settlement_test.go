package acceptance

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	weirv1 "weir/proto/weir/v1"
)

const settlementRules = `
rules:
  - name: settlements
    match: {method: [POST], path: /v1/charges}
    count_by: [api_key]
    limit: 100/s
    burst: 500
  - name: slow
    count_by: [slow]
    limit: 1/2s
`

func charge(key string) map[string]string {
	return map[string]string{"api_key": key, "method": "POST", "path": "/v1/charges"}
}

// startStore starts what a kind of store needs and returns its URL.
func startStore(t *testing.T, kind string) string {
	t.Helper()
	if kind == "redis" {
		return startRedis(t).url()
	}
	return kind
}

// Of 600 checks at once on 100/s with burst 500, 500 pass and what refills
// meanwhile; the next denial names an exact wait; after 5 s, 500 again.
func TestSettlement(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			n := startNode(t, startStore(t, kind), settlementRules)
			clients := dialMany(t, n, 6)
			settle(t, clients)
			exactWait(t, clients[0], charge("merchant"), 0)
			lastAnswer := time.Now()
			exactWait(t, clients[0], map[string]string{"slow": "s"}, 100*time.Millisecond)
			pause(t, 5*time.Second-time.Since(lastAnswer))
			settle(t, clients)
		})
	}
}

const (
	settleChecks    = 600
	settleBurst     = 500
	settlePerSecond = 100
)

// settle sends 600 checks at once. Nothing was asked of the key for 5 s or
// ever. Where the machine was too busy for the
// store to answer each in its 50 ms, it waits until the bucket is full and does
// it again.
func settle(t *testing.T, clients []*client) {
	t.Helper()
	for _, c := range clients {
		c.check(t, 0, charge("merchant")) // the connection is there, nothing is counted
	}
	attempts := 20
	if underRace() {
		attempts = 3
	}
	for range attempts {
		if settleOnce(t, clients) {
			return
		}
		pause(t, 5*time.Second)
	}
	if !underRace() { // which makes everything several times slower
		t.Error("the store never answered every check in time")
	}
}

// settleOnce says whether the store decided every check.
func settleOnce(t *testing.T, clients []*client) (decided bool) {
	t.Helper()
	answers := make([]*weirv1.CheckResponse, settleChecks)
	errs := make([]error, settleChecks)
	began := time.Now()
	var calls sync.WaitGroup
	for i := range answers {
		calls.Go(func() {
			answers[i], errs[i] = clients[i%len(clients)].Check(t.Context(), &weirv1.CheckRequest{Attributes: charge("merchant")})
		})
	}
	calls.Wait()
	took := time.Since(began)
	passed, unavailable := 0, 0
	for i, out := range answers {
		switch {
		case errs[i] != nil:
			t.Fatal(errs[i])
		case out.Reason == weirv1.Reason_REASON_STORE_UNAVAILABLE:
			unavailable++
			continue
		case out.Allowed:
			passed++
		}
		if err := sound(out, settleBurst, settlePerSecond); err != nil {
			t.Error(err)
		}
	}
	refilled := int(took.Seconds() * settlePerSecond)
	t.Logf("%d of %d passed in %d ms, in which %d may have refilled; the store was late for %d",
		passed, settleChecks, took.Milliseconds(), refilled, unavailable)
	if passed > settleBurst+refilled || unavailable == 0 && passed < settleBurst {
		t.Errorf("want %d and at most %d more", settleBurst, refilled)
	}
	return unavailable == 0
}

// sound says whether an answer's numbers can stand beside each other.
func sound(out *weirv1.CheckResponse, burst, limit int64) error {
	ok := out.Rule == "settlements" && out.Limit == limit && out.Burst == burst &&
		out.DecidedBy == weirv1.DecidedBy_DECIDED_BY_STORE && out.Remaining >= 0 && out.Remaining < burst
	if out.Allowed {
		ok = ok && out.RetryAfterUs == 0 && out.Reason == weirv1.Reason_REASON_UNSPECIFIED
	} else {
		ok = ok && out.RetryAfterUs > 0 && out.RetryAfterUs <= time.Second.Microseconds()/limit && out.Remaining == 0 &&
			out.Reason == weirv1.Reason_REASON_LIMIT_EXCEEDED
	}
	if !ok {
		return fmt.Errorf("answer does not add up: %v", out)
	}
	return nil
}

// timed is an answer with the instants between which the node decided.
type timed struct {
	*weirv1.CheckResponse
	asked, answered time.Time
}

func (c *client) timed(t *testing.T, attributes map[string]string) timed {
	t.Helper()
	asked := time.Now()
	out := c.check(t, 1, attributes)
	return timed{out, asked, time.Now()}
}

func (a timed) wait() time.Duration { return time.Duration(a.RetryAfterUs) * time.Microsecond }

// deny asks until the bucket is empty.
func (c *client) deny(t *testing.T, attributes map[string]string) timed {
	t.Helper()
	for range 2000 {
		if a := c.timed(t, attributes); !a.Allowed {
			return a
		}
	}
	t.Fatal("2000 checks in a row passed")
	return timed{}
}

// exactWait shows that a client that waits exactly as long as a denial says is
// let through and, unless early is 0, that one which asks as much earlier is
// not: the wait it is told then is what was left of the first.
func exactWait(t *testing.T, c *client, attributes map[string]string, early time.Duration) {
	t.Helper()
	first := c.deny(t, attributes)
	if early > 0 {
		first = tooEarly(t, c, attributes, early)
	}
	pause(t, time.Until(first.answered.Add(first.wait())))
	if again := c.timed(t, attributes); !again.Allowed {
		t.Errorf("denied after having waited %v: %v", first.wait(), again.CheckResponse)
	}
}

func tooEarly(t *testing.T, c *client, attributes map[string]string, early time.Duration) (second timed) {
	t.Helper()
	eventually(t, 30*time.Second, "a check just before its time", func(context.Context) error {
		first := c.deny(t, attributes)
		if first.wait() <= early {
			pause(t, first.wait()) // the next wait is a whole one
			return fmt.Errorf("only %v to wait", first.wait())
		}
		pause(t, time.Until(first.answered.Add(first.wait()-early)))
		second = c.timed(t, attributes)
		if second.answered.Sub(first.asked) >= first.wait() {
			return fmt.Errorf("the machine was slow: the check came %v late", second.answered.Sub(first.asked)-first.wait())
		}
		if second.Allowed {
			t.Fatalf("passed %v after a denial that said %v", second.answered.Sub(first.asked), first.wait())
		}
		// Between the two decisions passed between least and most; the waits
		// differ by what passed, each rounded up to a microsecond.
		least, most := second.asked.Sub(first.answered), second.answered.Sub(first.asked)
		if passed := first.wait() - second.wait(); passed < least-time.Microsecond || passed > most+time.Microsecond {
			t.Errorf("the wait shrank from %v to %v while %v to %v passed", first.wait(), second.wait(), least, most)
		}
		return nil
	})
	return second
}
