package gossip

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"
)

func TestNewsReachesEveryNode(t *testing.T) {
	c := newCluster(t, sixNodes()...)
	c.ticks(10)
	record(c.cores["eu-1"], testName("k"), testEntry("eu", 1))
	c.ticks(3)
	c.wantEverywhere("k", 1)
}

// In a region larger than the fan-out, the ring leaves nobody out.
func TestNewsReachesEveryNodeOfALargeRegion(t *testing.T) {
	var nodes []Peer
	for i := range 40 {
		nodes = append(nodes, Peer{fmt.Sprintf("n%02d", i), "eu"})
	}
	c := newCluster(t, nodes...)
	c.ticks(40)
	for key := range 50 {
		record(c.cores[nodes[key%40].Name], testName(fmt.Sprint(key)), testEntry("eu", 1))
		c.tick()
	}
	c.ticks(40)
	for key := range 50 {
		c.wantEverywhere(fmt.Sprint(key), 1)
	}
	for _, name := range c.names {
		if n := c.cores[name].Counters(); n.Gaps != 0 || n.RowsRepaired != 0 || n.RowsUnknown != 0 {
			t.Fatalf("%s needed repair: %+v", name, n)
		}
	}
}

func TestARowGoesOnceATickHoweverOftenItChanged(t *testing.T) {
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"us-1", "us"})
	c.ticks(10)
	for v := range uint64(100) {
		record(c.cores["eu-1"], testName("k"), testEntry("eu", v+1))
	}
	c.frames = nil
	c.tick()
	rows := 0
	for _, f := range c.frames {
		if f.Node == "eu-1" {
			rows += rowsIn(t, f)
		}
	}
	if rows != 1 {
		t.Fatalf("%d rows were sent, want 1", rows)
	}
	c.wantEverywhere("k", 100)
}

// A delta carries the entry that changed, not the whole row.
func TestADeltaCarriesWhatChanged(t *testing.T) {
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"us-1", "us"})
	record(c.cores["eu-1"], testName("k"), testEntry("eu", 1))
	record(c.cores["us-1"], testName("k"), testEntry("us", 1))
	c.ticks(30) // by then the row is not new any more
	record(c.cores["eu-1"], testName("k"), testEntry("eu", 2))
	c.frames = nil
	c.tick()
	for _, f := range c.frames {
		for _, r := range Decode(marshal(t, f)).rows {
			if r.named || len(r.entries) != 1 {
				t.Fatalf("%s sent %d entries, named %v; want 1, by ID", f.Node, len(r.entries), r.named)
			}
		}
	}
	c.wantEverywhere("k", 3)
}

func TestDeltasAreSplitIntoFrames(t *testing.T) {
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"us-1", "us"})
	c.ticks(10)
	const rows = 60_000 // about 3 MB: more than one tick's frames
	for key := range rows {
		record(c.cores["eu-1"], testName(fmt.Sprintf("customer-%020d", key)), testEntry("eu", 1))
	}
	c.frames = nil
	c.tick()
	sent := 0
	for _, f := range c.frames {
		if f.Node == "eu-1" {
			sent++
			if size := proto.Size(f); size > maxRowsBytes+1024 {
				t.Fatalf("a frame of %d bytes", size)
			}
		}
	}
	if sent != maxDeltaFrames {
		t.Fatalf("%d frames with one tick, want %d", sent, maxDeltaFrames)
	}
	c.ticks(3)
	if got := c.cores["us-1"].Len(); got != rows {
		t.Fatalf("%d rows arrived, want %d", got, rows)
	}
}

func TestWithoutPeersNewsDoesNotPileUp(t *testing.T) {
	core := testCore("eu-1", "eu")
	record(core, testName("k"), testEntry("eu", 1))
	tickOf(core, 0, testNowUnix)
	if core.Untold() != 0 {
		t.Fatal("news is kept for nobody")
	}
}

// Those who are told the same share the encoded rows.
func TestNewsIsEncodedOnce(t *testing.T) {
	core := testCore("eu-1", "eu")
	for _, p := range sixNodes() {
		core.PeerUp(p)
	}
	record(core, testName("k"), testEntry("eu", 1))
	var first *byte
	shared := 0
	for _, m := range tickOf(core, 0, testNowUnix) {
		if len(m.rows) == 0 {
			continue
		}
		if first == nil {
			first = &m.rows[0]
		}
		if first == &m.rows[0] {
			shared++
		}
	}
	if shared != 3 {
		t.Fatalf("%d messages share the rows, want 3", shared)
	}
}
