package gossip

import (
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"weir/crdt"
	wirev1 "weir/proto/wire/v1"
)

const testNowUnix = 1_790_000_000

var testRegions = []string{"ap", "eu", "us"}

func testName(key string) crdt.RowName {
	return crdt.RowName{Rule: "daily", Key: key, Start: testNowUnix - 100, End: testNowUnix + 1000}
}

func testEntry(region string, version uint64) crdt.Entry {
	return crdt.Entry{Replica: crdt.Replica{Region: region, Nonce: 7}, Version: version, Taken: int64(version)}
}

func testCore(node, region string) *Core {
	return NewCore(CoreConfig{
		Node: node, Region: region, Regions: testRegions, MaxRows: 100_000,
		Rand: rand.New(rand.NewPCG(1, uint64(len(node)))), NowUnix: testNowUnix,
	})
}

// record and step leave out what few tests look at.
func record(c *Core, name crdt.RowName, e crdt.Entry) bool {
	changed, _ := c.Record(name.ID(), name, e)
	return changed
}

func restore(c *Core, name crdt.RowName, e crdt.Entry) { _, _ = c.Restore(name.ID(), name, e) }

func step(c *Core, now time.Duration, frame []byte) error {
	in := Decode(frame)
	for {
		if more, err := c.Step(now, in); !more {
			return err
		}
	}
}

// tickOf gives a core a tick and returns all that comes out.
func tickOf(c *Core, now time.Duration, nowUnix int64) (out []Message) {
	c.Tick(now, nowUnix)
	for more := true; more; {
		var m Message
		if m, more = c.Next(now); !m.IsZero() {
			out = append(out, m)
		}
	}
	return out
}

// cluster is cores on a network that loses nothing, under one clock.
type cluster struct {
	t     testing.TB
	now   time.Duration
	cores map[string]*Core
	names []string
	// drop, if set, loses the messages it says.
	drop func(from string, m Message) bool
	// frames counts those carried since the last reset.
	frames []*wirev1.Frame
}

func newCluster(t testing.TB, nodes ...Peer) *cluster {
	c := &cluster{t: t, cores: map[string]*Core{}}
	for _, n := range nodes {
		c.cores[n.Name] = testCore(n.Name, n.Region)
		c.names = append(c.names, n.Name)
	}
	for _, n := range nodes {
		for _, p := range nodes {
			if p != n {
				c.cores[n.Name].PeerUp(p)
			}
		}
	}
	return c
}

// tick gives every core a tick and carries what comes out.
func (c *cluster) tick() {
	c.t.Helper()
	c.now += TickInterval
	for _, name := range c.names {
		core := c.cores[name]
		core.Tick(c.now, testNowUnix)
		for more := true; more; {
			var m Message
			if m, more = core.Next(c.now); !m.IsZero() {
				c.carry(name, m)
			}
		}
	}
}

// pump carries what is due, without a tick, until nothing is.
func (c *cluster) pump() {
	c.t.Helper()
	for busy := true; busy; {
		busy = false
		for _, name := range c.names {
			core := c.cores[name]
			if !core.takeUrgent() {
				continue
			}
			busy = true
			for more := true; more; {
				var m Message
				if m, more = core.Next(c.now); !m.IsZero() {
					c.carry(name, m)
				}
			}
		}
	}
}

// pumped is ticks, with all that is urgent carried in between.
func (c *cluster) pumped(n int) {
	c.t.Helper()
	for range n {
		c.tick()
		c.pump()
	}
}

func (c *cluster) carry(from string, m Message) {
	c.t.Helper()
	var f wirev1.Frame
	if err := proto.Unmarshal(m.Frame(0), &f); err != nil {
		c.t.Fatal(err)
	}
	c.frames = append(c.frames, &f)
	c.cores[from].Sent(m.To)
	to := c.cores[m.To]
	if to == nil || (c.drop != nil && c.drop(from, m)) {
		return
	}
	if err := step(to, c.now, m.Frame(0)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) ticks(n int) {
	c.t.Helper()
	for range n {
		c.tick()
	}
}

func (c *cluster) value(node, key string) int64 {
	var row crdt.Row
	c.cores[node].Row(testName(key).ID(), &row)
	return row.Value()
}

func (c *cluster) wantEverywhere(key string, want int64) {
	c.t.Helper()
	for _, name := range c.names {
		if got := c.value(name, key); got != want {
			c.t.Errorf("%s has %q at %d, want %d", name, key, got, want)
		}
	}
}

// rowsIn counts the rows of a frame, with names and without.
func rowsIn(t testing.TB, f *wirev1.Frame) int {
	t.Helper()
	in := Decode(marshal(t, f))
	if in.malformed != nil {
		t.Fatal(in.malformed)
	}
	return len(in.rows)
}

func sixNodes() []Peer {
	var nodes []Peer
	for _, r := range testRegions {
		nodes = append(nodes, Peer{r + "-1", r}, Peer{r + "-2", r})
	}
	return nodes
}
