package gossip

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/crdt"
)

func gift(region string, version uint64, to string, units int64) crdt.Entry {
	e := testEntry(region, version)
	e.Gifts = e.Gifts.With(to, units)
	return e
}

func saveAll(c *Core) { c.MarkDurable(c.TakeUnsaved(1000)) }

func given(c *Core, key, to string) int64 {
	var row crdt.Row
	c.Row(testName(key).ID(), &row)
	return row.Given("eu", to)
}

func TestGiftsLeaveTheNodeOnceTheyAreDurable(t *testing.T) {
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"eu-2", "eu"}, Peer{"us-1", "us"})
	c.ticks(10)
	record(c.cores["eu-1"], testName("k"), testEntry("eu", 1))
	c.ticks(3)
	record(c.cores["eu-1"], testName("k"), gift("eu", 2, "us", 10))
	c.ticks(30)
	for _, other := range []string{"eu-2", "us-1"} {
		if given(c.cores[other], "k", "us") != 0 || c.value(other, "k") != 1 {
			t.Fatalf("%s knows of a gift that no disk holds", other)
		}
	}
	n := c.cores["eu-2"].BeginExchange(c.now, 0)
	c.ticks(10)
	if c.cores["eu-2"].Unanswered(n) != 0 || given(c.cores["eu-2"], "k", "us") != 10 {
		t.Fatal("an exchange does not tell all")
	}
	saved := c.cores["eu-2"].TakeUnsaved(10)
	record(c.cores["eu-2"], testName("k"), gift("eu", 3, "us", 20))
	c.cores["eu-2"].MarkDurable(saved)
	c.ticks(3)
	if got := given(c.cores["us-1"], "k", "us"); got != 10 {
		t.Fatalf("us was given %d, want the 10 that eu-2 saved", got)
	}
	if c.cores["eu-1"].Withheld() != 1 || c.cores["eu-2"].Withheld() != 1 {
		t.Fatal("not every node withholds what it has not saved")
	}
	saveAll(c.cores["eu-2"])
	c.ticks(3)
	if got := given(c.cores["us-1"], "k", "us"); got != 20 {
		t.Fatalf("us was given %d, want 20", got)
	}
	saveAll(c.cores["eu-1"])
	for _, name := range c.names {
		if n := c.cores[name].Withheld(); n != 0 {
			t.Errorf("%s withholds %d rows", name, n)
		}
	}
}

// A node without a disk tells what another node of its region has on its own, also
// what it counted itself since; what it learnt in its store it does not.
func TestADisklessNodeTellsWhatItIsTold(t *testing.T) {
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"eu-2", "eu"}, Peer{"us-1", "us"})
	c.cores["eu-2"].diskless = true
	c.ticks(10)
	record(c.cores["eu-2"], testName("k"), gift("eu", 2, "us", 10))
	c.ticks(10)
	if given(c.cores["us-1"], "k", "us") != 0 || given(c.cores["eu-1"], "k", "us") != 0 {
		t.Fatal("a gift left a node without a disk that no disk holds")
	}
	record(c.cores["eu-1"], testName("k"), gift("eu", 2, "us", 10))
	later := gift("eu", 3, "us", 10)
	record(c.cores["eu-2"], testName("k"), later)
	saveAll(c.cores["eu-1"])
	c.ticks(20)
	for _, name := range []string{"eu-1", "us-1"} {
		if given(c.cores[name], "k", "us") != 10 || c.value(name, "k") != later.Taken {
			t.Errorf("%s knows of %d given and %d taken, want 10 and %d", name, given(c.cores[name], "k", "us"), c.value(name, "k"), later.Taken)
		}
	}
	if n := c.cores["eu-2"].Withheld(); n != 0 {
		t.Errorf("the node without a disk withholds %d rows", n)
	}
}

// What another region knows, or the disk had, is no secret.
func TestGiftsKnownElsewhereAreNotWithheld(t *testing.T) {
	eu, us := testCore("eu-1", "eu"), testCore("us-1", "us")
	restore(eu, testName("saved"), gift("eu", 1, "us", 5))
	us.PeerUp(Peer{"eu-1", "eu"})
	eu.PeerUp(Peer{"us-1", "us"})
	record(us, testName("heard"), gift("eu", 1, "us", 5))
	for _, m := range tickOf(us, 0, testNowUnix) {
		if err := step(eu, 0, m.Frame(0)); err != nil {
			t.Fatal(err)
		}
	}
	if eu.Len() != 2 || eu.Withheld() != 0 {
		t.Fatalf("%d rows, %d withheld; want 2 and none", eu.Len(), eu.Withheld())
	}
}

func TestWithheldRowsEndWithTheirPeriod(t *testing.T) {
	core := testCore("eu-1", "eu")
	record(core, testName("k"), gift("eu", 1, "us", 5))
	if core.Withheld() != 1 {
		t.Fatal("the gift is not withheld")
	}
	tickOf(core, 0, testName("").End+periodGraceSeconds)
	if core.Withheld() != 0 {
		t.Fatal("an ended row is withheld still")
	}
}

// TestNoGiftIsReceivedThatCouldBeForgotten: whatever is recorded, saved, lost
// and restarted, another region never knows of more than some disk of the
// giver's region holds.
func TestNoGiftIsReceivedThatCouldBeForgotten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"eu-2", "eu"}, Peer{"us-1", "us"}, Peer{"ap-1", "ap"})
		c.drop = func(string, Message) bool { return rapid.IntRange(0, 4).Draw(rt, "loss") == 0 }
		version, disk := uint64(0), int64(0)
		taken := map[string][]*crdt.Row{}
		node := rapid.SampledFrom([]string{"eu-1", "eu-2"})
		rt.Repeat(map[string]func(*rapid.T){
			"give": func(rt *rapid.T) {
				version++
				record(c.cores[node.Draw(rt, "node")], testName("k"), gift("eu", version, "us", int64(version/2+1)))
			},
			"take": func(rt *rapid.T) {
				n := node.Draw(rt, "node")
				taken[n] = append(taken[n], c.cores[n].TakeUnsaved(10)...)
			},
			"save": func(rt *rapid.T) {
				n := node.Draw(rt, "node")
				for _, row := range taken[n] {
					disk = max(disk, row.Given("eu", "us"))
				}
				c.cores[n].MarkDurable(taken[n])
				taken[n] = nil
			},
			"fail": func(rt *rapid.T) {
				c.cores[node.Draw(rt, "node")].Undelivered(c.now, rapid.SampledFrom(c.names).Draw(rt, "peer"))
			},
			"tick": func(*rapid.T) { c.tick() },
			"": func(rt *rapid.T) {
				for _, n := range []string{"us-1", "ap-1"} {
					if got := given(c.cores[n], "k", "us"); got > disk {
						rt.Fatalf("%s knows of %d units given, the disks of %d", n, got, disk)
					}
				}
			},
		})
	})
}

func TestGiftsToSaveIsTold(t *testing.T) {
	eu := open(t, testConfig("eu-1", "eu"))
	us := open(t, testConfig("us-1", "us", eu.Addr()))
	<-us.FirstSync()
	eu.Record(testName("k"), testEntry("eu", 1))
	select {
	case <-eu.GiftsToSave():
		t.Fatal("nothing was given")
	default:
	}
	eu.Record(testName("k"), gift("eu", 2, "us", 5))
	select {
	case <-eu.GiftsToSave():
	case <-time.After(10 * time.Second):
		t.Fatal("nobody is told that a gift is to be saved")
	}
	if eu.Stats().RowsWithheld != 1 {
		t.Fatalf("%d rows are withheld, want 1", eu.Stats().RowsWithheld)
	}
	eu.MarkDurable(eu.TakeUnsaved(10))
	eventually(t, "the gift arrives", func() bool {
		var got int64
		us.View(testName("k").ID(), func(r *crdt.Row) { got = r.Received("us") })
		return got == 5
	})
}
