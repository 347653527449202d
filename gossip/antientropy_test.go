package gossip

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"weir/crdt"
)

// twins are two nodes of two regions with the same rows of three regions, but for
// some that one has newer: every so-manieth, from an offset.
func twins(t testing.TB, rows, differ int) (c *cluster, differing int) {
	t.Helper()
	c = &cluster{t: t, cores: map[string]*Core{}}
	nodes := []Peer{{"eu-1", "eu"}, {"us-1", "us"}}
	for i, n := range nodes {
		c.names = append(c.names, n.Name)
		c.cores[n.Name] = NewCore(CoreConfig{
			Node: n.Name, Region: n.Region, Regions: testRegions, MaxRows: 2 * rows,
			Rand: rand.New(rand.NewPCG(uint64(i), 9)), NowUnix: testNowUnix,
		})
	}
	var encoder rowEncoder
	for i := range rows {
		name := testName(fmt.Sprintf("customer-%022d", i))
		var entries []crdt.Entry
		for _, region := range testRegions {
			e := testEntry(region, 5000)
			e.Taken = int64(i) * 3
			entries = append(entries, e)
		}
		for _, n := range nodes {
			for _, e := range entries {
				restore(c.cores[n.Name], name, e)
			}
		}
		if i < differ {
			entries[2].Version++
			entries[2].Taken++
			restore(c.cores["us-1"], name, entries[2])
			differing += len(encoder.append(nil, name, entries, wholeRow, c.cores["us-1"].regions.index))
		}
	}
	c.cores["eu-1"].PeerUp(nodes[1])
	c.cores["us-1"].PeerUp(nodes[0])
	for _, n := range c.names {
		c.cores[n].firstSync = true // no session of its own beside the other's
	}
	return c, differing
}

func (c *cluster) bytesSent() (n uint64) {
	for _, name := range c.names {
		n += c.cores[name].Counters().BytesSent
	}
	return n
}

func (c *cluster) equal() bool {
	first := c.cores[c.names[0]].rows
	for _, name := range c.names[1:] {
		rows := c.cores[name].rows
		if rows.Len() != first.Len() {
			return false
		}
		for _, span := range first.Spans(nil) {
			if rows.SpanDigest(span) != first.SpanDigest(span) {
				return false
			}
		}
	}
	return true
}

// heal runs until the nodes are equal and nobody asks any more, and returns how
// long that took by the nodes' clock.
func (c *cluster) heal(within time.Duration) time.Duration {
	c.t.Helper()
	from := c.now
	for {
		c.pumped(1)
		c.frames = nil
		busy := 0
		for _, name := range c.names {
			busy += c.cores[name].inSession()
		}
		switch {
		case busy == 0 && c.equal():
			return c.now - from
		case c.now-from > within:
			c.t.Fatalf("the nodes differ after %v", within)
		}
	}
}

// The target is for a million rows, of which ten thousand differ: see
// BenchmarkAntiEntropy.
func TestAntiEntropyCostsTheDifference(t *testing.T) {
	for _, tc := range []struct{ rows, differ int }{{50_000, 0}, {50_000, 1}, {50_000, 500}, {50_000, 50_000}, {10, 3}} {
		c, differing := twins(t, tc.rows, tc.differ)
		c.heal(5 * time.Second)
		if sent, bound := int(c.bytesSent()), 3*differing+256<<10; sent > bound {
			t.Errorf("%d rows, %d differ, %d bytes: sent %d bytes, want at most %d", tc.rows, tc.differ, differing, sent, bound)
		}
	}
}

// An empty node gets every row once, whichever of the two has the lower name and
// though both begin a session.
func TestAnEmptyNodeGetsEveryRowOnce(t *testing.T) {
	for _, full := range []string{"eu-1", "us-1"} {
		c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"us-1", "us"})
		var encoder rowEncoder
		size := 0
		c.cores[full].firstSync = true
		for i := range 50_000 {
			name, e := testName(fmt.Sprintf("customer-%022d", i)), testEntry("ap", 5000)
			restore(c.cores[full], name, e)
			size += len(encoder.append(nil, name, []crdt.Entry{e}, wholeRow, c.cores[full].regions.index))
		}
		c.heal(5 * time.Second)
		if sent := int(c.bytesSent()); sent > size*5/4+512<<10 {
			t.Errorf("%s was full: %d bytes for rows of %d bytes", full, sent, size)
		}
	}
}

// Where nothing differs, a session is one small frame each way.
func TestASessionOfEqualsIsSmall(t *testing.T) {
	c, _ := twins(t, 10_000, 0)
	c.heal(time.Second)
	c.pumped(20)
	c.frames = nil
	before := c.bytesSent()
	c.cores["eu-1"].byName["us-1"].session.want(c.now)
	c.cores["eu-1"].beginSessions(c.now)
	c.tick()
	sync := 0
	for _, f := range c.frames {
		if f.Request != nil || f.Answer != nil {
			sync++
		}
	}
	if sent := c.bytesSent() - before; sync != 2 || sent > 1000 || c.cores["eu-1"].inSession() != 0 {
		t.Fatalf("%d frames of a session, %d bytes in all", sync, sent)
	}
}

func BenchmarkAntiEntropy(b *testing.B) {
	const rows, differ = 1_000_000, 10_000
	for range b.N {
		b.StopTimer()
		c, differing := twins(b, rows, differ)
		b.StartTimer()
		took := c.heal(5 * time.Second)
		b.StopTimer()
		b.ReportMetric(float64(c.bytesSent()), "bytes")
		b.ReportMetric(float64(differing), "differing-bytes")
		b.ReportMetric((float64(c.bytesSent())-256<<10)/float64(differing), "ratio")
		b.ReportMetric(took.Seconds(), "virtual-s")
		b.StartTimer()
	}
}
