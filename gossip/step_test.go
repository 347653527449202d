package gossip

import (
	"fmt"
	"testing"
)

// No call does much at once: a caller's lock is let go in between.
func TestNextGoesInSmallSteps(t *testing.T) {
	core := testCore("eu-1", "eu")
	for _, p := range sixNodes() {
		core.PeerUp(p)
	}
	const rows = 20_000
	for i := range rows {
		record(core, testName(fmt.Sprintf("customer-%022d", i)), testEntry("eu", 1))
	}
	core.Tick(0, testNowUnix)
	for more := true; more; {
		untold, sent := core.Untold(), core.Counters().FramesSent
		_, more = core.Next(0)
		if n := untold - core.Untold(); n > stepRows {
			t.Fatalf("%d rows encoded with one call", n)
		}
		if n := core.Counters().FramesSent - sent; n > 1 {
			t.Fatalf("%d frames with one call", n)
		}
	}
	if core.Untold() != 0 {
		t.Fatalf("%d rows are untold", core.Untold())
	}
}

func TestStepGoesInSmallSteps(t *testing.T) {
	us, eu := testCore("us-1", "us"), testCore("eu-1", "eu")
	us.PeerUp(Peer{"eu-1", "eu"})
	eu.PeerUp(Peer{"us-1", "us"})
	for i := range 3*stepRows + 1 {
		record(us, testName(fmt.Sprint(i)), testEntry("us", 1))
	}
	in := Decode(tickOf(us, 0, testNowUnix)[0].Frame(0))
	for i, want := range []int{stepRows, 2 * stepRows, 3 * stepRows, 3*stepRows + 1} {
		if eu.byName["us-1"].in.upTo != 0 {
			t.Fatal("a frame counts as come before all its rows did")
		}
		more, err := eu.Step(0, in)
		if err != nil || more != (i < 3) || eu.Len() != want {
			t.Fatalf("call %d: %d rows, more %v, error %v", i, eu.Len(), more, err)
		}
	}
}

// Rows dropped with their period are dropped a few at a time.
func TestEndedRowsGoInSmallSteps(t *testing.T) {
	core := testCore("eu-1", "eu")
	for i := range 3 * stepRows {
		record(core, testName(fmt.Sprint(i)), testEntry("eu", 1))
	}
	core.Tick(0, testName("").End+periodGraceSeconds)
	for more := true; more; {
		before := core.Len()
		if _, more = core.Next(0); before-core.Len() > stepRows {
			t.Fatalf("%d rows dropped with one call", before-core.Len())
		}
	}
	if core.Len() != 0 {
		t.Fatalf("%d rows stayed", core.Len())
	}
}

// Nor does a session, whose lists and answers may be long.
func TestSessionsGoInSmallSteps(t *testing.T) {
	const rows = 10_000 // what one tick lets out
	c, _ := twins(t, rows, rows)
	eu, us := c.cores["eu-1"], c.cores["us-1"]
	eu.Tick(0, testNowUnix)
	us.Tick(0, testNowUnix)
	leaf := 0 // rows of the largest leaf
	for i := range 1 << 16 {
		leaf = max(leaf, len(eu.rows.Leaf(nil, eu.rows.Spans(nil)[0], uint16(i))))
	}
	listed := func() int {
		s := &eu.byName["us-1"].session
		return s.list.marks
	}
	for busy := true; busy; {
		busy = false
		for _, core := range []*Core{eu, us} {
			for more := true; more; {
				marks, count := listed(), us.answer.count
				var m Message
				m, more = core.Next(0)
				if n := max(listed()-marks, us.answer.count-count); n > stepRows+leaf {
					t.Fatalf("%d rows with one call", n)
				}
				if m.IsZero() {
					continue
				}
				busy = true
				core.Sent(m.To)
				in, to := Decode(m.Frame(0)), c.cores[m.To]
				for more := true; more; {
					before := to.Changes()
					more, _ = to.Step(0, in)
					if n := to.Changes() - before; n > 3*stepRows {
						t.Fatalf("%d entries taken in with one call", n)
					}
				}
			}
		}
	}
	if !c.equal() {
		t.Fatal("the session did not come to its end")
	}
}
