package gossip

import (
	"testing"
	"time"
)

func TestPeersGetHeartbeats(t *testing.T) {
	c := newCluster(t, sixNodes()...)
	c.ticks(20)
	c.frames = nil
	c.ticks(10)
	perNode := map[string]int{}
	for _, f := range c.frames {
		perNode[f.Node]++
	}
	for _, name := range c.names {
		if got := perNode[name]; got != 2*5 {
			t.Errorf("%s sent %d frames in a second to 5 peers, want 10", name, got)
		}
	}
}

func ages(core *Core, now time.Duration) map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, h := range core.Heard(now) {
		out[h.Region] = -1
		if h.Known {
			out[h.Region] = h.Age
		}
	}
	return out
}

func TestAgesAreHeardThroughOthers(t *testing.T) {
	c := newCluster(t, Peer{"ap-1", "ap"}, Peer{"eu-1", "eu"}, Peer{"us-1", "us"})
	if got := ages(c.cores["eu-1"], 0); got["eu"] != 0 || got["us"] != -1 || got["ap"] != -1 {
		t.Fatalf("before anything was heard: %v", got)
	}
	// ap and us do not hear each other; eu hears both.
	c.drop = func(from string, m Message) bool {
		return (from == "ap-1" && m.To == "us-1") || (from == "us-1" && m.To == "ap-1")
	}
	c.ticks(30)
	if got := ages(c.cores["us-1"], c.now); got["ap"] > 2*time.Second || got["ap"] < 0 {
		t.Fatalf("us hears ap through eu: %v", got)
	}
	// Now ap falls silent: its age grows everywhere, whoever repeats it.
	silentFrom := c.now
	c.drop = func(from string, _ Message) bool { return from == "ap-1" }
	c.ticks(100)
	for _, name := range []string{"eu-1", "us-1"} {
		got, silent := ages(c.cores[name], c.now), c.now-silentFrom
		if got["ap"] < silent-time.Second || got["ap"] > silent+2*time.Second {
			t.Errorf("%s says ap is %v old, it was silent for %v", name, got["ap"], silent)
		}
	}
}

func TestHeldTimeCountsIntoAges(t *testing.T) {
	eu, us := testCore("eu-1", "eu"), testCore("us-1", "us")
	us.PeerUp(Peer{"eu-1", "eu"})
	frame := appendHeld(tickOf(us, 0, testNowUnix)[0].Frame(0), 3*time.Second)
	if err := step(eu, 10*time.Second, frame); err != nil {
		t.Fatal(err)
	}
	if got := ages(eu, 11*time.Second)["us"]; got != 4*time.Second {
		t.Fatalf("age %v, want 4s", got)
	}
	// The same frame again, later, says nothing new.
	if err := step(eu, 20*time.Second, frame); err != nil {
		t.Fatal(err)
	}
	if got := ages(eu, 21*time.Second)["us"]; got != 14*time.Second {
		t.Fatalf("age %v after a replay, want 14s", got)
	}
}
