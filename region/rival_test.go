package region

import (
	"net"
	"strings"
	"testing"
	"time"

	"weir/region/config"
)

// freeAddr is an address of loopback that nobody has now.
func freeAddr(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := lis.Addr().String()
	if err := lis.Close(); err != nil {
		t.Fatal(err)
	}
	return addr
}

func named(name, gossip string, join ...string) func(*config.Config) {
	return func(cfg *config.Config) {
		cfg.Node, cfg.Gossip.Join = name, join
		if gossip != "" {
			cfg.Listen.Gossip = gossip
		}
	}
}

func wantGivesUp(t *testing.T, n *Node, because string) {
	t.Helper()
	select {
	case err := <-n.Failed():
		if !strings.Contains(err.Error(), because) || !strings.Contains(err.Error(), "a store in memory is for a region of one node") {
			t.Errorf("gave up for %v", err)
		}
		if n.NotReady() == nil {
			t.Error("it gave up and says that it is ready")
		}
	case <-time.After(20 * time.Second):
		t.Error("did not give up")
	}
}

func wantStays(t *testing.T, n *Node) {
	t.Helper()
	select {
	case err := <-n.Failed():
		t.Errorf("the one that should stay gave up: %v", err)
	default:
	}
	if err := n.NotReady(); err != nil {
		t.Errorf("the one that should stay is not ready: %v", err)
	}
}

// Whoever is ready first stays, whatever the names.
func TestASecondMemoryNodeGivesUp(t *testing.T) {
	for _, names := range [][2]string{{"a", "b"}, {"b", "a"}} {
		first := startNode(t, "eu", named(names[0], ""))
		second := beginNode(t, "eu", named(names[1], "", first.GossipAddr()))
		wantGivesUp(t, second, "node "+names[0])
		stopNode(t, second)
		wantStays(t, first)
		stopNode(t, first)
	}
}

// Of two that begin together one stays, and is ready when the other has gone.
func TestOfTwoMemoryNodesThatBeginTogetherOneStays(t *testing.T) {
	at := [2]string{freeAddr(t), freeAddr(t)}
	b := beginNode(t, "eu", named("b", at[1], at[0]))
	a := beginNode(t, "eu", named("a", at[0], at[1]))
	wantGivesUp(t, b, "node a")
	stopNode(t, b)
	waitReady(t, a)
	wantStays(t, a)
}

// Two that were ready before they met do not stay both.
func TestOfTwoMemoryNodesThatMeetLateOneStays(t *testing.T) {
	at := freeAddr(t)
	waits := defaultWaits()
	waits.sync, waits.appear = time.Millisecond, time.Millisecond
	waits.rivalry = rivalry{yield: 500 * time.Millisecond, meet: 2 * time.Second}
	b := beginPatientNode(t, "eu", waits, named("b", "", at))
	waitReady(t, b)
	a := beginPatientNode(t, "eu", waits, named("a", at))
	waitReady(t, a)
	wantGivesUp(t, b, "node a")
	wantStays(t, a)
}
