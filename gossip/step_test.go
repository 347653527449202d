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
