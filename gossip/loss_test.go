package gossip

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"weir/crdt"
)

// A frame lost without an error is noticed by its number.
func TestASilentlyLostFrameIsRepaired(t *testing.T) {
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"us-1", "us"})
	c.ticks(10)
	c.drop = func(from string, _ Message) bool { return from == "eu-1" }
	record(c.cores["eu-1"], testName("k"), testEntry("eu", 5))
	c.tick()
	c.drop = nil
	if c.value("us-1", "k") != 0 {
		t.Fatal("the frame was not lost")
	}
	c.ticks(20)
	c.wantEverywhere("k", 5)
	if n := c.cores["us-1"].Counters(); n.Gaps != 1 {
		t.Fatalf("%d gaps, want 1", n.Gaps)
	}
}

// A frame that the transport reports as lost is repaired, too, even when
// nothing else would show it.
func TestAnUndeliveredFrameIsRepaired(t *testing.T) {
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"us-1", "us"})
	c.ticks(10)
	c.drop = func(from string, m Message) bool {
		if from != "eu-1" {
			return false
		}
		c.cores[from].Undelivered(c.now, m.To)
		return true
	}
	record(c.cores["eu-1"], testName("k"), testEntry("eu", 5))
	c.tick()
	c.drop = nil
	c.ticks(10)
	c.wantEverywhere("k", 5)
}

// TestWhatWentWithANodeIsAskedFor: of a region's nodes one alone is told the
// news, and it goes before it can pass it on.
func TestWhatWentWithANodeIsAskedFor(t *testing.T) {
	c := newCluster(t, Peer{"us-1", "us"}, Peer{"eu-1", "eu"}, Peer{"eu-2", "eu"})
	c.ticks(20)
	c.drop = func(from string, _ Message) bool { return from == "eu-1" }
	for i := range 20 { // chance chooses eu-1 for some
		record(c.cores["us-1"], testName(strconv.Itoa(i)), testEntry("us", 1))
		c.tick()
	}
	missing := 0
	for i := range 20 {
		if c.value("eu-2", strconv.Itoa(i)) == 0 {
			missing++
		}
	}
	if missing == 0 {
		t.Fatal("eu-2 heard everything: the test shows nothing")
	}
	c.names = []string{"us-1", "eu-2"}
	delete(c.cores, "eu-1")
	for _, name := range c.names {
		c.cores[name].PeerDown("eu-1")
	}
	c.ticks(10)
	for i := range 20 {
		c.wantEverywhere(strconv.Itoa(i), 1)
	}
}

// A node dies; its own region knows at once and has asked, while another goes on
// telling it alone, and nothing says that this is in vain.
func TestWhatANodeGoneWasToldIsToldAgain(t *testing.T) {
	c := newCluster(t, Peer{"us-1", "us"}, Peer{"eu-1", "eu"}, Peer{"eu-2", "eu"})
	c.ticks(20)
	c.drop = func(from string, m Message) bool { return from == "eu-1" || m.To == "eu-1" }
	c.cores["eu-2"].PeerDown("eu-1")
	c.ticks(20)
	const rows = 20
	for i := range rows {
		record(c.cores["us-1"], testName(strconv.Itoa(i)), testEntry("us", 1))
		c.tick()
	}
	c.names = []string{"us-1", "eu-2"}
	missing := 0
	for i := range rows {
		if c.value("eu-2", strconv.Itoa(i)) == 0 {
			missing++
		}
	}
	if missing == 0 {
		t.Fatal("eu-2 heard everything: the test shows nothing")
	}
	c.cores["us-1"].PeerDown("eu-1")
	c.ticks(10)
	for i := range rows {
		c.wantEverywhere(strconv.Itoa(i), 1)
	}
}

// Two nodes of a region do not reach each other: what one alone is told, the
// other gets by asking elsewhere.
func TestASilentNodesNewsIsAskedForElsewhere(t *testing.T) {
	c := newCluster(t, Peer{"us-1", "us"}, Peer{"eu-1", "eu"}, Peer{"eu-2", "eu"})
	c.ticks(20)
	c.drop = func(from string, m Message) bool {
		dead := from[:2] == "eu" && m.To[:2] == "eu"
		if dead {
			c.cores[from].Undelivered(c.now, m.To)
		}
		return dead
	}
	const rows = 20
	for i := range rows {
		record(c.cores["us-1"], testName(strconv.Itoa(i)), testEntry("us", 1))
		c.tick()
	}
	asks := c.cores["eu-1"].Counters().Asks
	c.ticks(300)
	for i := range rows {
		c.wantEverywhere(strconv.Itoa(i), 1)
	}
	if asks = c.cores["eu-1"].Counters().Asks - asks; asks > 5 {
		t.Errorf("%d requests in 30 s", asks)
	}
}

// What a peer may have missed is remembered up to a bound; past it, the rest of
// its region asks for all rows.
func TestWhatIsToldAgainIsBounded(t *testing.T) {
	core := testCore("us-1", "us")
	core.PeerUp(Peer{"eu-1", "eu"})
	core.PeerUp(Peer{"eu-2", "eu"})
	ids := make([]crdt.RowID, maxToldRows/2)
	for i := range ids {
		ids[i] = testName(fmt.Sprint(i)).ID()
	}
	p, other := core.byName["eu-1"], core.byName["eu-2"]
	p.told.add(toldBatch{ids: ids})
	stream := other.out.number
	core.Undelivered(0, "eu-1")
	if core.again["eu"] == nil {
		t.Fatal("nothing is told again")
	}
	if got := core.again["eu"].len(); got != len(ids) || other.out.number != stream {
		t.Fatalf("%d rows are told again, want %d", got, len(ids))
	}
	for range 3 {
		p.told.add(toldBatch{ids: ids})
	}
	if p.told.rows > maxToldRows {
		t.Fatalf("%d rows are remembered", p.told.rows)
	}
	core.Undelivered(0, "eu-1")
	if core.again["eu"] != nil || other.out.number == stream {
		t.Fatal("past the bound, eu-2 is not made to ask")
	}
}

// TestUndeliveredNewsGoesToAnotherNode: one link alone is dead, and each frame
// is known for lost only seconds after.
func TestUndeliveredNewsGoesToAnotherNode(t *testing.T) {
	c := newCluster(t, Peer{"us-1", "us"}, Peer{"eu-1", "eu"}, Peer{"eu-2", "eu"})
	c.ticks(20)
	type loss struct {
		at time.Duration
		m  Message
	}
	var losses []loss
	c.drop = func(from string, m Message) bool {
		dead := (from == "us-1" && m.To == "eu-1") || (from == "eu-1" && m.To == "us-1")
		if dead && from == "us-1" {
			losses = append(losses, loss{c.now, m})
		}
		return dead
	}
	const rows = 100
	for i := range rows + 60 {
		if i < rows {
			record(c.cores["us-1"], testName(strconv.Itoa(i)), testEntry("us", 1))
		}
		for len(losses) > 0 && c.now-losses[0].at >= 3*time.Second {
			c.cores["us-1"].Undelivered(c.now, losses[0].m.To)
			losses = losses[1:]
		}
		c.tick()
	}
	for i := range rows {
		c.wantEverywhere(strconv.Itoa(i), 1)
	}
}
