package gossip

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"weir/crdt"
	wirev1 "weir/proto/wire/v1"
)

// goodFrame has everything a frame can have.
func goodFrame() *wirev1.Frame {
	return &wirev1.Frame{
		Version: 1, Node: "us-1", Region: "us", Regions: []string{"us", "eu"},
		Heard: []*wirev1.Heard{{Region: 0, Stamp: 9}, {Region: 1, AgeMs: 1500, Stamp: 1}},
		Rows: []*wirev1.Row{{
			Rule: "daily", Key: "k", StartUnixSeconds: testNowUnix - 100, EndUnixSeconds: testNowUnix + 1000, Generation: 2,
			Entries: []*wirev1.Entry{
				{Region: 0, Replica: 1, Version: 2, Taken: 3, Returned: 1, Granted: 4, Unmet: 5, Gifts: []*wirev1.Gift{{Region: 1, Units: 6}}},
				{Region: 1, Replica: 1 << 63, Version: 1 << 40, Taken: 1 << 53, Returned: 0},
			},
		}},
		DeltaReplicas: append([]byte{1}, 1, 2, 3, 4, 5, 6, 7, 8), Deltas: goodDelta(),
		Unknown: make([]byte, 2*16), Repair: true,
		Request: &wirev1.SyncRequest{Session: 5, Number: 1, Spans: []*wirev1.Span{
			{StartUnixSeconds: testNowUnix - 100, EndUnixSeconds: testNowUnix + 1000, Digest: 77},
			{StartUnixSeconds: testNowUnix, EndUnixSeconds: testNowUnix + 2000},
		}},
		Answer: &wirev1.SyncAnswer{
			Session: 6, Number: 2, Spans: []*wirev1.Span{{Groups: []byte{3, 1, 2, 3, 4, 9, 1, 2, 3, 4}}},
			Groups: []*wirev1.Group{{Group: 255, Leaves: make([]byte, 1024)}}, LeavesDone: 3, After: make([]byte, 16), Wants: []byte{1, 2, 3, 4},
		},
		Stream: 1<<40 | 1, Sequence: 1, HeldMs: 20,
		SplitsDigest: 1 << 50, Splits: goodSplits(),
	}
}

// goodDelta has one row of two entries, the second with all there can be.
func goodDelta() []byte {
	id := testName("delta").ID()
	return append(id[:], 2, 0, 5, 6, 1, 1, 7, 8, 2, 1, 9, 1, 0, 10)
}

func goodLeaves() []byte {
	return []byte{0, 7, 2, 0, 1, 1, 1, 1, 1, 0, 1, 2, 2, 2, 2, 0, 9, 0}
}

func leavesRequest() *wirev1.SyncRequest {
	return &wirev1.SyncRequest{Session: 5, Number: 3, StartUnixSeconds: testNowUnix - 100, EndUnixSeconds: testNowUnix + 1000, Leaves: goodLeaves()}
}

func marshal(t testing.TB, f *wirev1.Frame) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What is encoded by hand is what the generated code makes of it.
func TestEncodingIsTheGenerated(t *testing.T) {
	c := newCluster(t, sixNodes()...)
	for i := range 30 {
		name := testName(fmt.Sprint(i))
		name.Start, name.Generation = -int64(i), uint32(i)
		for _, node := range c.names {
			record(c.cores[node], name, crdt.Entry{
				Replica: crdt.Replica{Region: c.cores[node].region, Nonce: uint64(i) << 60}, Version: uint64(i + 1),
				Taken: int64(i) << 40, Returned: int64(i % 2), Granted: int64(i), Unmet: int64(i % 3),
				Gifts: crdt.Gifts("").With("somewhere", int64(i)),
			})
		}
	}
	for _, core := range c.cores {
		core.MarkDurable(core.TakeUnsaved(1000))
	}
	checked := 0
	c.drop = func(_ string, m Message) bool {
		var f wirev1.Frame
		if err := proto.Unmarshal(m.Frame(0), &f); err != nil {
			t.Fatal(err)
		}
		if len(f.ProtoReflect().GetUnknown()) > 0 {
			t.Fatalf("fields the schema does not know: %v", &f)
		}
		again := marshal(t, &f)
		if len(again) != len(m.Frame(0)) {
			t.Fatalf("%d bytes by hand, %d generated: %v", len(m.Frame(0)), len(again), &f)
		}
		checked += len(f.Rows)
		return false
	}
	c.ticks(10)
	if checked < 100 {
		t.Fatalf("only %d rows were compared", checked)
	}
	c.wantEverywhere("none", 0)
	var row crdt.Row
	name := testName("29")
	name.Start, name.Generation = -29, 29
	if !c.cores["ap-2"].Row(name.ID(), &row) || row.Value() != 3*(29<<40-1) {
		t.Fatalf("the row arrived as %v", row.Entries())
	}
}

func TestAGoodFrameIsTakenIn(t *testing.T) {
	core := testCore("eu-1", "eu")
	if err := step(core, 10*time.Second, marshal(t, goodFrame())); err != nil {
		t.Fatal(err)
	}
	name := testName("k")
	name.Generation = 2
	var row crdt.Row
	if !core.Row(name.ID(), &row) || row.Value() != 2+1<<53 {
		t.Fatalf("row is %v", row.Entries())
	}
	want := crdt.Entry{
		Replica: crdt.Replica{Region: "us", Nonce: 1}, Version: 2, Taken: 3, Returned: 1,
		Granted: 4, Unmet: 5, Gifts: crdt.Gifts("").With("eu", 6),
	}
	if got, _ := row.Entry(want.Replica); got != want {
		t.Fatalf("entry is %v, want %v", got, want)
	}
}

func TestMalformedFramesHaveNoEffect(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	for what, spoil := range map[string]func(f *wirev1.Frame){
		"no version": func(f *wirev1.Frame) { f.Version = 0 },
		"no node":    func(f *wirev1.Frame) { f.Node = "" },
		"long node":  func(f *wirev1.Frame) { f.Node = long(maxNodeBytes + 1) },

		"own node":           func(f *wirev1.Frame) { f.Node = "eu-1" },
		"another region":     func(f *wirev1.Frame) { f.Region = "ap" },
		"no region":          func(f *wirev1.Frame) { f.Region = "" },
		"long region":        func(f *wirev1.Frame) { f.Regions[1] = long(crdt.MaxRegionBytes + 1) },
		"too many regions":   func(f *wirev1.Frame) { f.Regions = append(f.Regions, strings.Split(long(maxRegions), "")...) },
		"too many ages":      func(f *wirev1.Frame) { f.Heard = make([]*wirev1.Heard, maxRegions+1) },
		"age of no region":   func(f *wirev1.Frame) { f.Heard[0].Region = 2 },
		"huge stamp":         func(f *wirev1.Frame) { f.Heard[0].Stamp = maxStamp + 1 },
		"gift to no region":  func(f *wirev1.Frame) { f.Rows[0].Entries[0].Gifts[0].Region = 2 },
		"entry of no region": func(f *wirev1.Frame) { f.Rows[0].Entries[0].Region = 1<<32 - 1 },
		"no rule":            func(f *wirev1.Frame) { f.Rows[0].Rule = "" },
		"long rule":          func(f *wirev1.Frame) { f.Rows[0].Rule = long(crdt.MaxNameBytes + 1) },
		"long key":           func(f *wirev1.Frame) { f.Rows[0].Key = long(crdt.MaxNameBytes + 1) },
		"empty period":       func(f *wirev1.Frame) { f.Rows[0].EndUnixSeconds = f.Rows[0].StartUnixSeconds },
		"too many entries":   func(f *wirev1.Frame) { f.Rows[0].Entries = make([]*wirev1.Entry, crdt.MaxEntries+1) },
		"no stream":          func(f *wirev1.Frame) { f.Stream = 0 },
		"no sequence":        func(f *wirev1.Frame) { f.Sequence = 0 },

		"replica of no region":  func(f *wirev1.Frame) { f.DeltaReplicas[0] = 2 },
		"short replica":         func(f *wirev1.Frame) { f.DeltaReplicas = f.DeltaReplicas[:5] },
		"delta of no replica":   func(f *wirev1.Frame) { f.DeltaReplicas = nil },
		"short delta":           func(f *wirev1.Frame) { f.Deltas = f.Deltas[:len(f.Deltas)-1] },
		"long delta":            func(f *wirev1.Frame) { f.Deltas = append(f.Deltas, 0) },
		"delta without entries": func(f *wirev1.Frame) { f.Deltas[16] = 0 },
		"delta of many entries": func(f *wirev1.Frame) { f.Deltas[16] = 127 },
		"delta's long number":   func(f *wirev1.Frame) { f.Deltas = append(f.Deltas[:len(f.Deltas)-1], 0x8a, 0) },
		"gift of no region":     func(f *wirev1.Frame) { f.Deltas[len(f.Deltas)-2] = 2 },
		"short unknown":         func(f *wirev1.Frame) { f.Unknown = f.Unknown[:17] },
		"many unknown":          func(f *wirev1.Frame) { f.Unknown = make([]byte, 16*(maxUnknown+1)) },
		"request of no session": func(f *wirev1.Frame) { f.Request.Session = 0 },
		"request of no number":  func(f *wirev1.Frame) { f.Request.Number = 0 },
		"spans out of order":    func(f *wirev1.Frame) { f.Request.Spans[1].EndUnixSeconds = 0 },
		"too many spans":        func(f *wirev1.Frame) { f.Request.Spans = make([]*wirev1.Span, maxSpans+1) },
		"groups of no span":     func(f *wirev1.Frame) { f.Request.Spans, f.Request.Groups = nil, []byte{1} },
		"groups beside spans":   func(f *wirev1.Frame) { f.Request = leavesRequest(); f.Request.Groups = []byte{1} },
		"too many groups": func(f *wirev1.Frame) {
			f.Request = leavesRequest()
			f.Request.Leaves, f.Request.Groups = nil, make([]byte, 257)
		},
		"short leaf":             func(f *wirev1.Frame) { f.Request = leavesRequest(); f.Request.Leaves = goodLeaves()[:17] },
		"leaf of many rows":      func(f *wirev1.Frame) { f.Request = leavesRequest(); f.Request.Leaves[2] = 127 },
		"leaf out of order":      func(f *wirev1.Frame) { f.Request = leavesRequest(); f.Request.Leaves[4] = 2 },
		"too many leaves":        func(f *wirev1.Frame) { f.Request = leavesRequest(); f.Request.Leaves = make([]byte, 3*(maxLeaves+1)) },
		"short row ID":           func(f *wirev1.Frame) { f.Request = leavesRequest(); f.Request.After = make([]byte, 15) },
		"answer to no session":   func(f *wirev1.Frame) { f.Answer.Session = 0 },
		"answer to no number":    func(f *wirev1.Frame) { f.Answer.Number = 0 },
		"vector out of order":    func(f *wirev1.Frame) { f.Answer.Spans[0].Groups[5] = 3 },
		"vector of other size":   func(f *wirev1.Frame) { f.Answer.Groups[0].Leaves = make([]byte, 1025) },
		"group past the last":    func(f *wirev1.Frame) { f.Answer.Groups[0].Group = 256 },
		"answer of many spans":   func(f *wirev1.Frame) { f.Answer.Spans = make([]*wirev1.Span, maxSpans+1) },
		"answer of many groups":  func(f *wirev1.Frame) { f.Answer.Groups = make([]*wirev1.Group, maxGroups+1) },
		"short row ID in answer": func(f *wirev1.Frame) { f.Answer.After = make([]byte, 15) },
		"short want":             func(f *wirev1.Frame) { f.Answer.Wants = make([]byte, 5) },
		"too many wants":         func(f *wirev1.Frame) { f.Answer.Wants = make([]byte, 4*(maxMarks+1)) },
		"splits of version 0":    func(f *wirev1.Frame) { f.Splits.Versions[0].Version = 0 },
		"splits out of order":    func(f *wirev1.Frame) { f.Splits.Versions[1].Version = 1 },
		"too many splits":        func(f *wirev1.Frame) { f.Splits.Versions = make([]*wirev1.SplitVersion, crdt.MaxSplits+1) },
		"version of no split":    func(f *wirev1.Frame) { f.Splits.Versions[0].Rivals = nil },
		"weight of nobody":       func(f *wirev1.Frame) { f.Splits.Versions[0].Rivals[0].Weights[0].Region = "" },
		"huge weight":            func(f *wirev1.Frame) { f.Splits.Versions[0].Rivals[0].Weights[0].Weight = crdt.MaxWeight + 1 },
		"ack of nobody":          func(f *wirev1.Frame) { f.Splits.Versions[1].Acks[0].Region = "" },
		"broken last row":        func(f *wirev1.Frame) { f.Rows = append(f.Rows, &wirev1.Row{Rule: "r"}) },
		"too long":               func(f *wirev1.Frame) { f.Rows = append(f.Rows, &wirev1.Row{Rule: long(maxFrameBytes)}) },
	} {
		core := testCore("eu-1", "eu")
		core.PeerUp(Peer{"us-1", "us"})
		f := goodFrame()
		spoil(f)
		err := step(core, 10*time.Second, marshal(t, f))
		n := core.Counters()
		if !errors.Is(err, ErrFrame) || n.MalformedFrames+n.ForeignFrames != 1 {
			t.Errorf("%s: error %v, counters %+v", what, err, n)
		}
		if core.Len() != 0 || ages(core, 10*time.Second)["us"] != -1 || len(core.byName["us-1"].requests) != 0 || core.takeUrgent() || core.SplitsChanges() != 0 {
			t.Errorf("%s: had an effect", what)
		}
	}
	core := testCore("eu-1", "eu")
	good := marshal(t, goodFrame())
	for cut := range len(good) {
		_ = step(core, 0, good[:cut]) // any error will do, and none where the rest may lack
	}
	if err := step(core, 0, bytes.Repeat([]byte{0xff}, 100)); !errors.Is(err, ErrFrame) {
		t.Errorf("noise: %v", err)
	}
}

// An entry no honest peer sends is left out; what came with it is taken in.
func TestSpoiltEntriesAreLeftOut(t *testing.T) {
	for what, spoil := range map[string]func(e *wirev1.Entry){
		"version 0":         func(e *wirev1.Entry) { e.Version = 0 },
		"huge taken":        func(e *wirev1.Entry) { e.Taken = 1<<53 + 1 },
		"negative taken":    func(e *wirev1.Entry) { e.Taken = 1<<64 - 1 },
		"negative returned": func(e *wirev1.Entry) { e.Returned = 1 << 63 },
		"huge granted":      func(e *wirev1.Entry) { e.Granted = 1<<53 + 1 },
		"huge unmet":        func(e *wirev1.Entry) { e.Unmet = 1<<53 + 1 },
		"huge gift":         func(e *wirev1.Entry) { e.Gifts[0].Units = 1<<53 + 1 },
		"empty gift":        func(e *wirev1.Entry) { e.Gifts[0].Units = 0 },
		"gift to itself":    func(e *wirev1.Entry) { e.Gifts[0].Region = e.Region },
		"a gift twice":      func(e *wirev1.Entry) { e.Gifts = append(e.Gifts, e.Gifts[0]) },
		"many gifts": func(e *wirev1.Entry) {
			for range crdt.MaxGiftRegions {
				e.Gifts = append(e.Gifts, e.Gifts[0])
			}
		},
	} {
		core := testCore("eu-1", "eu")
		f := goodFrame()
		spoil(f.Rows[0].Entries[0])
		if err := step(core, 0, marshal(t, f)); err != nil {
			t.Fatal(err)
		}
		name := testName("k")
		name.Generation = 2
		var row crdt.Row
		if core.Row(name.ID(), &row); row.Value() != 1<<53 || core.Counters().RefusedInvalid != 1 {
			t.Errorf("%s: row %v, counters %+v", what, row.Entries(), core.Counters())
		}
	}
}

func FuzzStep(f *testing.F) {
	f.Add(marshal(f, goodFrame()))
	f.Add(marshal(f, &wirev1.Frame{Version: 1, Node: "us-1", Region: "us", Stream: 1, Sequence: 1}))
	spoilt := goodFrame()
	spoilt.Rows[0].Entries[0].Taken = 1 << 63
	f.Add(marshal(f, spoilt))
	leaves := goodFrame()
	leaves.Request = leavesRequest()
	f.Add(marshal(f, leaves))
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0x32, 0x00}, 50))
	f.Fuzz(func(t *testing.T, frame []byte) {
		core := testCore("eu-1", "eu")
		core.PeerUp(Peer{"us-1", "us"})
		record(core, testName("mine"), testEntry("eu", 1))
		before := core.Changes()
		if err := step(core, 0, frame); err != nil {
			if core.Changes() != before || core.Len() != 1 || len(core.byName["us-1"].requests) != 0 || core.SplitsChanges() != 0 {
				t.Fatalf("%v, and yet it had an effect", err)
			}
			return
		}
		var row crdt.Row
		for place := range core.Places() {
			if !core.At(place, &row) {
				continue
			}
			if err := row.Name().Validate(); err != nil {
				t.Fatal(err)
			}
			for _, e := range row.Entries() {
				if err := e.Validate(); err != nil {
					t.Fatal(err)
				}
			}
		}
		// Whatever was taken in can be sent on and be taken in by another.
		other := testCore("us-1", "us")
		for _, m := range tickOf(core, 0, testNowUnix) {
			if err := step(other, 0, m.Frame(0)); err != nil {
				t.Fatal(err)
			}
		}
	})
}
