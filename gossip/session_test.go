package gossip

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	wirev1 "weir/proto/wire/v1"
)

func TestPeersExchangeAllRowsWhenTheyMeet(t *testing.T) {
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"us-1", "us"})
	for key := range 20_000 {
		restore(c.cores["eu-1"], testName(fmt.Sprintf("customer-%020d", key)), testEntry("eu", 1))
		restore(c.cores["us-1"], testName(fmt.Sprintf("client-%020d", key)), testEntry("us", 1))
	}
	if c.cores["eu-1"].FirstSync() {
		t.Fatal("synced before anything was heard")
	}
	c.pumped(10)
	for _, name := range c.names {
		if got := c.cores[name].Len(); got != 40_000 || !c.cores[name].FirstSync() {
			t.Fatalf("%s has %d rows, synced %v", name, got, c.cores[name].FirstSync())
		}
	}
}

func TestTwoEmptyNodesSync(t *testing.T) {
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"us-1", "us"})
	c.ticks(3)
	if !c.cores["eu-1"].FirstSync() || !c.cores["us-1"].FirstSync() {
		t.Fatal("two empty nodes did not finish their first session")
	}
}

func TestAnswersArePaced(t *testing.T) {
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"us-1", "us"})
	for key := range 90_000 {
		restore(c.cores["eu-1"], testName(fmt.Sprintf("customer-%020d", key)), testEntry("eu", 1))
	}
	for range 40 {
		c.frames = nil
		c.tick()
		c.pump()
		bytes := 0
		for _, f := range c.frames {
			if f.Repair && f.Node == "eu-1" {
				bytes += proto.Size(f)
			}
		}
		if bytes > maxAnswerBytes+maxFrameBytes {
			t.Fatalf("%d bytes of answers with one tick", bytes)
		}
	}
	if got := c.cores["us-1"].Len(); got != 90_000 {
		t.Fatalf("%d rows arrived", got)
	}
}

// What the transport has not sent holds back answers and repairs.
func TestAnswersWaitForTheTransport(t *testing.T) {
	core, us := testCore("eu-1", "eu"), testCore("us-1", "us")
	for key := range 90_000 {
		restore(core, testName(fmt.Sprintf("customer-%020d", key)), testEntry("eu", 1))
	}
	core.PeerUp(Peer{"us-1", "us"})
	us.PeerUp(Peer{"eu-1", "eu"})
	handed := 0
	for i := range 30 {
		now := time.Duration(i) * TickInterval
		for _, m := range tickOf(us, now, testNowUnix) {
			us.Sent(m.To)
			if err := step(core, now, m.Frame(0)); err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range tickOf(core, now, testNowUnix) { // and reports nothing sent
			if Decode(m.Frame(0)).repair {
				handed++
			}
			if err := step(us, now, m.Frame(0)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if handed == 0 || handed > maxWaiting {
		t.Fatalf("%d frames handed out while none was sent", handed)
	}
}

func TestASessionThatStandsStillIsBegunAnew(t *testing.T) {
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"us-1", "us"})
	restore(c.cores["eu-1"], testName("k"), testEntry("eu", 5))
	c.drop = func(from string, _ Message) bool { return from == "eu-1" }
	c.ticks(10)
	c.drop = nil
	c.ticks(45)
	c.wantEverywhere("k", 5)
	if n := c.cores["us-1"].Counters(); n.AskTimeouts == 0 {
		t.Fatal("no session stood still")
	}
}

func TestUnreachablePeersDoNotKeepOthersFromBeingAsked(t *testing.T) {
	core := testCore("eu-1", "eu")
	for i := range 3 * maxSessions {
		core.PeerUp(Peer{fmt.Sprintf("us-%02d", i), "us"})
	}
	asked := map[string]bool{}
	for tick := range 200 {
		for _, m := range tickOf(core, time.Duration(tick)*TickInterval, testNowUnix) {
			var f wirev1.Frame
			if err := proto.Unmarshal(m.Frame(0), &f); err != nil {
				t.Fatal(err)
			}
			if f.Request != nil {
				asked[m.To] = true
			}
		}
		if core.inSession() > maxSessions {
			t.Fatalf("%d sessions at once", core.inSession())
		}
	}
	if len(asked) != 3*maxSessions {
		t.Fatalf("asked %d of %d peers", len(asked), 3*maxSessions)
	}
}

// TestAnEarlyRequestIsAnswered: a node asks before it is a peer there, and is
// answered once it is, without asking again.
func TestAnEarlyRequestIsAnswered(t *testing.T) {
	eu, us := testCore("eu-1", "eu"), testCore("us-1", "us")
	record(us, testName("a"), testEntry("us", 1))
	c := &cluster{t: t, cores: map[string]*Core{"eu-1": eu, "us-1": us}, names: []string{"eu-1", "us-1"}}
	eu.PeerUp(Peer{"us-1", "us"})
	c.tick()
	us.PeerUp(Peer{"eu-1", "eu"})
	c.pumped(2)
	c.wantEverywhere("a", 1)
	if !eu.FirstSync() || eu.Counters().Asks != 1 {
		t.Errorf("whole answer: %v, after %d requests", eu.FirstSync(), eu.Counters().Asks)
	}
}
