package gossip

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"weir/crdt"
	wirev1 "weir/proto/wire/v1"
)

// goodSplits has everything there can be to know of splits.
func goodSplits() *wirev1.Splits {
	weights := func(eu, us uint32) *wirev1.Split {
		return &wirev1.Split{Weights: []*wirev1.SplitWeight{{Region: "eu", Weight: eu}, {Region: "us", Weight: us}}}
	}
	return &wirev1.Splits{Versions: []*wirev1.SplitVersion{
		{Version: 1, Rivals: []*wirev1.Split{weights(1, 1), weights(1, 2)}, More: true},
		{Version: 2, Rivals: []*wirev1.Split{weights(3, 1)}, Acks: []*wirev1.SplitAck{{Region: "eu", AfterUnixSeconds: testNowUnix}}},
	}}
}

// oneSplit is a version with weights of ap, eu and us.
func oneSplit(t testing.TB, version uint64, weights ...uint32) *crdt.Splits {
	t.Helper()
	var list []crdt.Weight
	for i, w := range weights {
		list = append(list, crdt.Weight{Region: append(testRegions, "za")[i], Weight: w})
	}
	split, err := crdt.NewSplit(version, list)
	if err != nil {
		t.Fatal(err)
	}
	var s crdt.Splits
	s.Add(split)
	return &s
}

// agree says whether all know the same splits.
func (c *cluster) agree() bool {
	for _, name := range c.names {
		if d := c.cores[name].splits.digest; d == 0 || d != c.cores[c.names[0]].splits.digest {
			return false
		}
	}
	return true
}

func (c *cluster) splitsSent() (n uint64) {
	for _, core := range c.cores {
		n += core.Counters().SplitsSent
	}
	return n
}

// TestSplitsAreHeardByAll at once where nothing is lost, and nothing is told
// again once all know.
func TestSplitsAreHeardByAll(t *testing.T) {
	c := newCluster(t, sixNodes()...)
	c.pumped(2)
	if !c.cores["ap-1"].MergeSplits(oneSplit(t, 1, 1, 2, 1)) || c.cores["ap-1"].MergeSplits(oneSplit(t, 1, 1, 2, 1)) {
		t.Error("splits are news once")
	}
	c.pump()
	if !c.agree() {
		t.Error("not all were told at once")
	}
	sent := c.splitsSent()
	c.pumped(30)
	if again := c.splitsSent(); again != sent {
		t.Errorf("told %d times, and %d times more", sent, again-sent)
	}
	if got := c.cores["us-2"].Splits(); got.Share("eu", 0, 100) != 50 {
		t.Errorf("us-2 knows %+v", got.All())
	}
}

// TestSplitsConverge where two of three frames are lost, and regions were told
// different ones.
func TestSplitsConverge(t *testing.T) {
	for seed := range uint64(50) {
		c := newCluster(t, sixNodes()...)
		r := rand.New(rand.NewPCG(seed, 5))
		c.drop = func(string, Message) bool { return r.IntN(3) > 0 }
		c.pumped(3)
		for i, name := range c.names {
			c.cores[name].MergeSplits(oneSplit(t, uint64(1+i%2), 1, uint32(1+r.IntN(3)), 1))
		}
		for _, name := range c.names {
			c.cores[name].Acknowledge(uint64(1+r.IntN(2)), crdt.Ack{Region: c.cores[name].region, After: r.Int64N(10)})
		}
		ticks := 0
		for ; !c.agree() && ticks < 200; ticks++ {
			c.pumped(1)
		}
		if !c.agree() {
			t.Fatalf("seed %d: not the same after %d ticks", seed, ticks)
		}
	}
}

// TestASplitWithoutAPeerIsTakenIn: a frame may come before membership tells of
// its node.
func TestASplitWithoutAPeerIsTakenIn(t *testing.T) {
	core := testCore("eu-1", "eu")
	if err := step(core, 0, marshal(t, goodFrame())); err != nil {
		t.Fatal(err)
	}
	if got := core.Splits(); !proto.Equal(EncodeSplits(&got), goodSplits()) {
		t.Errorf("got %v", got.All())
	}
}

// TestTheFirstSessionBringsSplits: a node has what its peer had only with these.
func TestTheFirstSessionBringsSplits(t *testing.T) {
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"us-1", "us"})
	c.cores["us-1"].MergeSplits(oneSplit(t, 1, 1, 2, 1))
	core, lost := c.cores["eu-1"], 0
	c.drop = func(from string, m Message) bool {
		if from == "us-1" && Decode(m.Frame(0)).splits != nil && lost < 3 {
			lost++
			return true
		}
		return false
	}
	for range 100 {
		c.pumped(1)
		if known := core.Splits(); core.FirstSync() != (known.Len() > 0) {
			t.Fatalf("synced is %v with %d splits", core.FirstSync(), known.Len())
		}
	}
	if lost != 3 || !core.FirstSync() {
		t.Errorf("%d lost, synced is %v", lost, core.FirstSync())
	}
}

// TestALargeSplitFits: all that may ever be known goes into one frame.
func TestALargeSplitFits(t *testing.T) {
	var known []crdt.Known
	for v := range uint64(crdt.MaxSplits) {
		k := crdt.Known{Version: 1<<63 + v}
		for r := range uint32(crdt.MaxRivals) {
			split := crdt.Split{Version: k.Version}
			for i := range crdt.MaxSplitRegions {
				split.Weights = append(split.Weights, crdt.Weight{Region: fmt.Sprintf("%02d%s", i, strings.Repeat("x", 61)), Weight: crdt.MaxWeight - r})
			}
			k.Rivals = append(k.Rivals, split)
		}
		for _, w := range k.Rivals[0].Weights {
			k.Acks = append(k.Acks, crdt.Ack{Region: w.Region, After: -1 << 63}, crdt.Ack{Region: w.Region, After: 1<<63 - 1})
		}
		known = append(known, k)
	}
	s, err := crdt.NewSplits(known)
	if err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"us-1", "us"})
	c.pumped(2)
	c.cores["eu-1"].MergeSplits(&s)
	c.pump()
	if !c.agree() {
		t.Error("too large to be told")
	}
}

// TestAChangeOfSplitOverCores adds a region: it has no share until all have
// acknowledged and a period begins after the latest of their instants, and
// whoever does not know uses the smaller share.
func TestAChangeOfSplitOverCores(t *testing.T) {
	nodes := append(sixNodes(), Peer{"za-1", "za"})
	c := newCluster(t, nodes...)
	c.cores["ap-1"].MergeSplits(oneSplit(t, 1, 2, 1, 1))
	c.pumped(10)
	c.cores["eu-2"].MergeSplits(oneSplit(t, 2, 1, 1, 1, 1))
	c.pumped(10)
	shares := func(start int64) (out [4]int64) {
		sum := int64(0)
		for i, region := range append(testRegions, "za") {
			s := c.cores[region+"-1"].Splits()
			out[i] = s.Share(region, start, 100)
			sum += out[i]
		}
		if sum > 100 {
			t.Errorf("a period from %d: shares %v sum to %d", start, out, sum)
		}
		return out
	}
	if got := shares(1000); got != [4]int64{50, 25, 25, 0} {
		t.Errorf("before anybody acknowledged: %v", got)
	}
	// What the last two acknowledge, ap does not hear.
	for i, region := range append(testRegions, "za") {
		if i == 2 {
			c.drop = func(from string, m Message) bool { return from[:2] == "ap" || m.To[:2] == "ap" }
		}
		if !c.cores[region+"-1"].Acknowledge(2, crdt.Ack{Region: region, After: int64(10 * (i + 1))}) {
			t.Fatalf("%s did not acknowledge", region)
		}
		c.pumped(10)
	}
	for start, want := range map[int64][4]int64{10: {50, 25, 25, 0}, 11: {25, 25, 25, 0}, 40: {25, 25, 25, 0}, 41: {25, 25, 25, 25}} {
		if got := shares(start); got != want {
			t.Errorf("a period from %d, ap cut off: %v, want %v", start, got, want)
		}
	}
	c.drop = nil
	for ticks := 0; !c.agree() && ticks < 100; ticks++ {
		c.pumped(1)
	}
	for start, want := range map[int64][4]int64{40: {50, 25, 25, 0}, 41: {25, 25, 25, 25}} {
		if got := shares(start); got != want {
			t.Errorf("a period from %d: %v, want %v", start, got, want)
		}
	}
}

// FuzzDecodeSplits: what is taken for splits keeps the rules, is written as it
// is read and is told to others.
func FuzzDecodeSplits(f *testing.F) {
	seed, err := proto.Marshal(goodSplits())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte{})
	f.Add([]byte{0x0a, 0x00})
	f.Fuzz(func(t *testing.T, b []byte) {
		var w wirev1.Splits
		if proto.Unmarshal(b, &w) != nil {
			return
		}
		s, err := DecodeSplits(&w)
		if err != nil {
			return
		}
		again, err := DecodeSplits(EncodeSplits(&s))
		if err != nil || again.Digest() != s.Digest() {
			t.Fatalf("%v: %+v became %+v", err, s.All(), again.All())
		}
		core, other := testCore("eu-1", "eu"), testCore("us-1", "us")
		core.PeerUp(Peer{"us-1", "us"})
		core.MergeSplits(&s)
		core.byName["us-1"].splits.heard = true
		for _, m := range tickOf(core, time.Second, testNowUnix) {
			if err := step(other, time.Second, m.Frame(0)); err != nil {
				t.Fatal(err)
			}
		}
		if other.splits.digest != s.Digest() {
			t.Fatal("not told")
		}
	})
}

// TestMeshesAgreeOnSplits: what one is given, all read.
func TestMeshesAgreeOnSplits(t *testing.T) {
	a := open(t, testConfig("eu-1", "eu"))
	b := open(t, testConfig("us-1", "us", a.Addr()))
	if none := a.Splits(); none.Len() != 0 || a.Splits() != none {
		t.Error("splits of nobody")
	}
	a.MergeSplits(oneSplit(t, 1, 1, 2, 1))
	eventually(t, "the split is heard", func() bool { return b.Splits().Share("eu", 0, 100) == 50 })
	before := b.Splits()
	if !a.Acknowledge(1, crdt.Ack{Region: "eu", After: 7}) {
		t.Error("not acknowledged")
	}
	eventually(t, "the acknowledgement is heard", func() bool { return b.Splits().Acknowledged(1, "eu") })
	if before.Acknowledged(1, "eu") {
		t.Error("what was read changed")
	}
}
