package gossip

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestAnExchangeBringsWhatTheRegionKnows(t *testing.T) {
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"eu-2", "eu"}, Peer{"eu-3", "eu"}, Peer{"us-1", "us"})
	c.ticks(20)
	record(c.cores["eu-2"], testName("a"), testEntry("eu", 2))
	record(c.cores["eu-3"], testName("b"), testEntry("eu", 3))
	record(c.cores["us-1"], testName("c"), testEntry("us", 4))
	epochs := map[string]uint64{}
	for _, name := range c.names {
		epochs[name] = c.cores[name].Epoch()
	}
	n := c.cores["eu-1"].BeginExchange(c.now, 0)
	if c.cores["eu-1"].Unanswered(n) != 2 {
		t.Fatalf("%d peers are awaited, want the 2 of the region", c.cores["eu-1"].Unanswered(n))
	}
	c.pump()
	if c.cores["eu-1"].Unanswered(n) != 0 {
		t.Fatal("an exchange waits for a tick")
	}
	if c.value("eu-1", "a") != 2 || c.value("eu-1", "b") != 3 || c.value("eu-1", "c") != 0 {
		t.Fatal("not what the region knows, and that alone")
	}
	for name, want := range map[string]uint64{"eu-1": 1, "eu-2": 1, "eu-3": 1, "us-1": 0} {
		if got := c.cores[name].Epoch() - epochs[name]; got != want {
			t.Errorf("%s: %d epochs began, want %d", name, got, want)
		}
	}
}

func TestAnExchangeAloneIsDoneAtOnce(t *testing.T) {
	core := testCore("eu-1", "eu")
	core.PeerUp(Peer{"us-1", "us"})
	if n := core.BeginExchange(0, 0); core.Unanswered(n) != 0 {
		t.Fatal("waits for nobody")
	}
}

// Peers that go are not waited for, nor those that came after it began, though
// they bear the name of one that was there.
func TestAnExchangeWaitsForThoseThatWereThere(t *testing.T) {
	core := testCore("eu-1", "eu")
	core.PeerUp(Peer{"eu-2", "eu"})
	n := core.BeginExchange(0, 0)
	core.PeerUp(Peer{"eu-3", "eu"})
	if core.Unanswered(n) != 1 {
		t.Fatalf("%d awaited, want 1", core.Unanswered(n))
	}
	core.PeerDown("eu-2")
	core.PeerUp(Peer{"eu-2", "eu"})
	if core.Unanswered(n) != 0 {
		t.Fatalf("%d awaited, want none", core.Unanswered(n))
	}
	if n := core.BeginExchange(0, 0); core.Unanswered(n) != 2 {
		t.Fatalf("%d awaited by the next, want 2", core.Unanswered(n))
	}
}

// The answer of a request that was made before is no answer to an exchange: it
// may have passed what changed since.
func TestAnExchangeIsAskedAnew(t *testing.T) {
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"eu-2", "eu"})
	eu1, eu2 := c.cores["eu-1"], c.cores["eu-2"]
	var early []Message
	for _, m := range tickOf(eu1, c.now, testNowUnix) { // asks, as the peer is new
		if err := step(eu2, c.now, m.Frame(0)); err != nil {
			t.Fatal(err)
		}
	}
	early = tickOf(eu2, c.now, testNowUnix)
	record(eu2, testName("k"), testEntry("eu", 5))
	n := eu1.BeginExchange(c.now, 0)
	for _, m := range early {
		if err := step(eu1, c.now, m.Frame(0)); err != nil {
			t.Fatal(err)
		}
	}
	if eu1.Unanswered(n) != 1 {
		t.Fatal("an answer to an earlier request counts")
	}
	second := eu1.BeginExchange(c.now, 0)
	c.pump()
	if eu1.Unanswered(n) != 0 || eu1.Unanswered(second) != 0 || c.value("eu-1", "k") != 5 {
		t.Fatal("the exchanges did not finish")
	}
}

func TestALostExchangeIsAskedAgain(t *testing.T) {
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"eu-2", "eu"})
	c.ticks(20)
	lose := 1
	c.drop = func(string, Message) bool { lose--; return lose >= 0 }
	n := c.cores["eu-1"].BeginExchange(c.now, 0)
	c.pump()
	c.drop = nil
	if c.cores["eu-1"].Unanswered(n) == 0 {
		t.Fatal("the request was not lost")
	}
	c.ticks(8)
	if c.cores["eu-1"].Unanswered(n) != 0 {
		t.Fatal("no answer within a second")
	}
}

// What a node that went without an answer had told one that answered before, is
// heard too: that one is asked again.
func TestWhoAnsweredIsAskedAgainWhenAnotherGoes(t *testing.T) {
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"eu-2", "eu"}, Peer{"eu-3", "eu"})
	c.ticks(20)
	eu1 := c.cores["eu-1"]
	c.drop = func(from string, m Message) bool { return from == "eu-3" || m.To == "eu-3" }
	n := eu1.BeginExchange(c.now, 0)
	c.pump()
	if eu1.Unanswered(n) != 1 {
		t.Fatalf("%d unanswered, want eu-3", eu1.Unanswered(n))
	}
	// eu-2 has answered; now it hears what eu-3 said before it went.
	record(c.cores["eu-2"], testName("k"), testEntry("eu", 5))
	eu1.PeerDown("eu-3")
	if eu1.Unanswered(n) != 1 {
		t.Fatalf("%d unanswered, want eu-2 again", eu1.Unanswered(n))
	}
	c.ticks(8)
	if eu1.Unanswered(n) != 0 || c.value("eu-1", "k") != 5 {
		t.Fatal("eu-2 did not tell what it heard since")
	}
}

func TestMeshExchange(t *testing.T) {
	one := open(t, testConfig("eu-1", "eu"))
	epoch := one.Epoch()
	if missing, err := one.Exchange(context.Background(), 0); missing != 0 || err != nil {
		t.Fatalf("alone: %d unanswered, %v", missing, err)
	}
	if one.Epoch() == epoch {
		t.Fatal("no epoch began")
	}
	two := open(t, testConfig("eu-2", "eu", one.Addr()))
	<-one.FirstSync()
	<-two.FirstSync()
	for round := range 20 {
		key, epoch := fmt.Sprint(round), two.Epoch()
		if _, believed, err := two.RecordAt(epoch, 0, testName(key).ID(), testName(key), testEntry("eu", 9)); !believed || err != nil {
			t.Fatalf("believed %v, error %v", believed, err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		missing, err := one.Exchange(ctx, 0)
		cancel()
		if missing != 0 || err != nil || meshValue(one, key) != 9 {
			t.Fatalf("%d unanswered, %v, row at %d", missing, err, meshValue(one, key))
		}
		_, believed, err := two.RecordAt(epoch, 0, testName("late").ID(), testName("late"), testEntry("eu", uint64(round+1)))
		if believed || err != nil || meshValue(two, "late") != 0 {
			t.Fatalf("a reply from before the exchange: believed %v, error %v", believed, err)
		}
	}
	two.mu.Lock() // nothing is answered
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	missing, err := one.Exchange(ctx, 0)
	cancel()
	two.mu.Unlock()
	if missing != 1 || err != nil {
		t.Fatalf("%d unanswered, %v; want 1", missing, err)
	}
	one.Close()
	if _, err := one.Exchange(context.Background(), 0); err != nil && !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
}
