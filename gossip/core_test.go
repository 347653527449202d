package gossip

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
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

func sixNodes() []Peer {
	var nodes []Peer
	for _, r := range testRegions {
		nodes = append(nodes, Peer{r + "-1", r}, Peer{r + "-2", r})
	}
	return nodes
}

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
		if n := c.cores[name].Counters(); n.Gaps != 0 || n.Asks != 39 {
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
			rows += len(f.Rows)
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
	c.ticks(10)
	record(c.cores["eu-1"], testName("k"), testEntry("eu", 2))
	c.frames = nil
	c.tick()
	for _, f := range c.frames {
		for _, r := range f.Rows {
			if len(r.Entries) != 1 {
				t.Fatalf("%s sent %d entries, want 1", f.Node, len(r.Entries))
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

func TestPeersExchangeAllRowsWhenTheyMeet(t *testing.T) {
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"us-1", "us"})
	for key := range 20_000 {
		restore(c.cores["eu-1"], testName(fmt.Sprintf("customer-%020d", key)), testEntry("eu", 1))
		restore(c.cores["us-1"], testName(fmt.Sprintf("client-%020d", key)), testEntry("us", 1))
	}
	if c.cores["eu-1"].FirstSync() {
		t.Fatal("synced before anything was heard")
	}
	c.ticks(6)
	for _, name := range c.names {
		if got := c.cores[name].Len(); got != 40_000 || !c.cores[name].FirstSync() {
			t.Fatalf("%s has %d rows, synced %v", name, got, c.cores[name].FirstSync())
		}
	}
}

func TestAnEmptyAnswerIsAnAnswer(t *testing.T) {
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"us-1", "us"})
	c.ticks(3)
	if !c.cores["eu-1"].FirstSync() || !c.cores["us-1"].FirstSync() {
		t.Fatal("two empty nodes did not finish their first exchange")
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
		parts := 0
		for _, f := range c.frames {
			if f.AllRowsFor != 0 && f.Node == "eu-1" {
				parts++
			}
		}
		if parts > maxAnswerFrames {
			t.Fatalf("%d parts with one tick", parts)
		}
	}
	if got := c.cores["us-1"].Len(); got != 90_000 {
		t.Fatalf("%d rows arrived", got)
	}
}

// What the transport has not sent holds back answers.
func TestAnswersWaitForTheTransport(t *testing.T) {
	core := testCore("eu-1", "eu")
	for key := range 90_000 {
		restore(core, testName(fmt.Sprintf("customer-%020d", key)), testEntry("eu", 1))
	}
	core.PeerUp(Peer{"us-1", "us"})
	us := testCore("us-1", "us")
	us.PeerUp(Peer{"eu-1", "eu"})
	if err := step(core, 0, tickOf(us, 0, testNowUnix)[0].Frame(0)); err != nil {
		t.Fatal(err)
	}
	parts := 0
	for i := range 10 {
		for _, m := range tickOf(core, time.Duration(i)*TickInterval, testNowUnix) {
			if in := Decode(m.Frame(0)); in.answers != 0 {
				parts++
			}
		}
	}
	if parts > maxAnswerFrames {
		t.Fatalf("%d parts handed out while none was sent", parts)
	}
}

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

func TestAnAnswerThatStandsStillIsAskedForAnew(t *testing.T) {
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"us-1", "us"})
	restore(c.cores["eu-1"], testName("k"), testEntry("eu", 5))
	c.drop = func(from string, _ Message) bool { return from == "eu-1" }
	c.ticks(10)
	c.drop = nil
	c.ticks(45)
	c.wantEverywhere("k", 5)
	if n := c.cores["us-1"].Counters(); n.AskTimeouts == 0 {
		t.Fatal("no request timed out")
	}
}

func TestUnreachablePeersDoNotKeepOthersFromBeingAsked(t *testing.T) {
	core := testCore("eu-1", "eu")
	for i := range 3 * maxAsks {
		core.PeerUp(Peer{fmt.Sprintf("us-%02d", i), "us"})
	}
	asked := map[string]bool{}
	for tick := range 200 {
		for _, m := range tickOf(core, time.Duration(tick)*TickInterval, testNowUnix) {
			var f wirev1.Frame
			if err := proto.Unmarshal(m.Frame(0), &f); err != nil {
				t.Fatal(err)
			}
			if f.WantAllRows != 0 {
				asked[m.To] = true
			}
		}
		if core.asking() > maxAsks {
			t.Fatalf("%d requests at once", core.asking())
		}
	}
	if len(asked) != 3*maxAsks {
		t.Fatalf("asked %d of %d peers", len(asked), 3*maxAsks)
	}
}

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

func TestPeriodsAreJudged(t *testing.T) {
	for _, tc := range []struct {
		what       string
		start, end int64
		accepted   bool
		count      func(Counters) uint64
	}{
		{"current", testNowUnix - 10, testNowUnix + 10, true, nil},
		{"ended within the grace", testNowUnix - 100, testNowUnix - 59, true, nil},
		{"ended before the grace", testNowUnix - 100, testNowUnix - 60, false, func(c Counters) uint64 { return c.RefusedEnded }},
		{"begins within 40 days", testNowUnix + maxFutureSeconds, testNowUnix + maxFutureSeconds + 1, true, nil},
		{"begins later", testNowUnix + maxFutureSeconds + 1, testNowUnix + maxFutureSeconds + 2, false, func(c Counters) uint64 { return c.RefusedFuture }},
		{"is empty", testNowUnix, testNowUnix, false, func(c Counters) uint64 { return c.RefusedInvalid }},
	} {
		core := testCore("eu-1", "eu")
		name := crdt.RowName{Rule: "r", Key: "k", Start: tc.start, End: tc.end}
		if got := record(core, name, testEntry("eu", 1)); got != tc.accepted {
			t.Errorf("%s: Record = %v", tc.what, got)
		}
		if tc.count != nil && tc.count(core.Counters()) != 1 {
			t.Errorf("%s: not counted: %+v", tc.what, core.Counters())
		}
	}
}

func TestEndedRowsAreNeitherSentNorKept(t *testing.T) {
	eu, us := testCore("eu-1", "eu"), testCore("us-1", "us")
	name := testName("k")
	record(eu, name, testEntry("eu", 1))
	eu.PeerUp(Peer{"us-1", "us"})
	late := name.End + periodGraceSeconds
	// us's clock is behind: it would still take the row.
	for _, m := range tickOf(eu, 0, late) {
		if err := step(us, 0, m.Frame(0)); err != nil {
			t.Fatal(err)
		}
	}
	if us.Len() != 0 || eu.Len() != 0 {
		t.Fatalf("us has %d rows, eu kept %d; want none", us.Len(), eu.Len())
	}
	if rows := eu.TakeUnsaved(10); len(rows) != 0 {
		t.Fatalf("an ended row is to be saved: %v", rows[0].Name())
	}
}

func TestBoundsAreCounted(t *testing.T) {
	core := NewCore(CoreConfig{Node: "n", Region: "eu", MaxRows: 1, Rand: rand.New(rand.NewPCG(1, 1)), NowUnix: testNowUnix})
	record(core, testName("a"), testEntry("eu", 1))
	if record(core, testName("b"), testEntry("eu", 1)) || core.Counters().RefusedFull != 1 {
		t.Errorf("a row past the bound: %+v", core.Counters())
	}
	for i := range maxRegions {
		record(core, testName("a"), testEntry(fmt.Sprint("r", i), 1))
	}
	if got := core.Counters().RefusedRegions; got != 1 {
		t.Errorf("%d regions refused, want 1", got)
	}
	if record(core, testName("a"), crdt.Entry{Replica: crdt.Replica{Region: "eu"}, Version: 1, Taken: -1}) || core.Counters().RefusedInvalid != 1 {
		t.Errorf("a negative entry: %+v", core.Counters())
	}
	for i := range maxPeers {
		core.PeerUp(Peer{fmt.Sprint("p", i), "eu"})
	}
	if core.PeerUp(Peer{"one too many", "eu"}) || core.Counters().RefusedPeers != 1 {
		t.Errorf("a peer past the bound: %+v", core.Counters())
	}
}

func TestUnsavedRows(t *testing.T) {
	core := testCore("eu-1", "eu")
	restore(core, testName("restored"), testEntry("eu", 1))
	for _, key := range []string{"a", "b", "c"} {
		record(core, testName(key), testEntry("eu", 1))
	}
	record(core, testName("a"), testEntry("eu", 2))
	keys := func(rows []*crdt.Row) (out []string) {
		for _, r := range rows {
			out = append(out, r.Name().Key)
		}
		return out
	}
	first := core.TakeUnsaved(2)
	if got := keys(first); !slices.Equal(got, []string{"a", "b"}) || first[0].Value() != 2 {
		t.Fatalf("took %v", got)
	}
	core.MarkUnsaved(first[0].Name().ID(), testName("unknown").ID())
	if got := keys(core.TakeUnsaved(10)); !slices.Equal(got, []string{"c", "a"}) {
		t.Fatalf("then took %v", got)
	}
	if got := core.TakeUnsaved(10); len(got) != 0 || core.Unsaved() != 0 {
		t.Fatalf("took %v of nothing", keys(got))
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

// TestAnEarlyRequestIsAnswered: a node asks before it is a peer there, and is
// answered once it is, without asking again.
func TestAnEarlyRequestIsAnswered(t *testing.T) {
	eu, us := testCore("eu-1", "eu"), testCore("us-1", "us")
	record(us, testName("a"), testEntry("us", 1))
	c := &cluster{t: t, cores: map[string]*Core{"eu-1": eu, "us-1": us}, names: []string{"eu-1", "us-1"}}
	eu.PeerUp(Peer{"us-1", "us"})
	c.tick()
	us.PeerUp(Peer{"eu-1", "eu"})
	c.ticks(2)
	c.wantEverywhere("a", 1)
	if !eu.FirstSync() || eu.Counters().Asks != 1 {
		t.Errorf("whole answer: %v, after %d requests", eu.FirstSync(), eu.Counters().Asks)
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
	us := testCore("us-1", "us")
	us.PeerUp(Peer{"eu-1", "eu"})
	if err := step(core, 0, tickOf(us, 0, testNowUnix)[0].Frame(0)); err != nil {
		t.Fatal(err)
	}
	core.Tick(0, testNowUnix)
	walked := func() uint32 { a := core.byName["us-1"].answer; return a.places - a.left }
	for more := true; more; {
		untold, places, sent := core.Untold(), walked(), core.Counters().FramesSent
		_, more = core.Next(0)
		if n := untold - core.Untold(); n > stepRows {
			t.Fatalf("%d rows encoded with one call", n)
		}
		if n := walked() - places; n > stepPlaces {
			t.Fatalf("%d places looked at with one call", n)
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

func TestRecordSaysWhatWasRefused(t *testing.T) {
	newCore := func() *Core {
		return NewCore(CoreConfig{Node: "n", Region: "eu", MaxRows: 1, Rand: rand.New(rand.NewPCG(1, 1)), NowUnix: testNowUnix})
	}
	late, early, long := testName("k"), testName("k"), testName(strings.Repeat("k", crdt.MaxNameBytes+1))
	late.End = testNowUnix - periodGraceSeconds
	early.Start = testNowUnix + maxFutureSeconds + 1
	early.End = early.Start + 1
	for what, tc := range map[string]struct {
		name crdt.RowName
		e    crdt.Entry
		want error
	}{
		"known":        {testName("held"), testEntry("eu", 1), nil},
		"full":         {testName("k"), testEntry("eu", 1), crdt.ErrFull},
		"ended":        {late, testEntry("eu", 1), ErrEnded},
		"too far":      {early, testEntry("eu", 1), ErrFuture},
		"long key":     {long, testEntry("eu", 1), crdt.ErrName},
		"no version":   {testName("held"), testEntry("eu", 0), crdt.ErrEntry},
		"region bound": {testName("held"), testEntry("one too many", 1), ErrRegions},
		"gift's bound": {testName("held"), crdt.Entry{
			Replica: crdt.Replica{Region: "eu", Nonce: 9}, Version: 1, Gifts: crdt.Gifts("").With("one too many", 1),
		}, ErrRegions},
	} {
		core := newCore()
		for i := range maxRegions {
			core.regions.learn(fmt.Sprint("r", i))
		}
		record(core, testName("held"), testEntry("eu", 1))
		if !core.HasRoom(testName("held").ID()) || core.HasRoom(testName("k").ID()) {
			t.Fatal("there is room for the row that is held, and no other")
		}
		changed, err := core.Record(tc.name.ID(), tc.name, tc.e)
		if changed || !errors.Is(err, tc.want) {
			t.Errorf("%s: changed %v, error %v, want %v", what, changed, err, tc.want)
		}
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
