package gossip

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir/crdt"
	wirev1 "weir/proto/wire/v1"
)

// A list of leaves says what the asker has.
func TestLeafListsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		session := rapid.Uint64Min(1).Draw(t, "session")
		var packed []byte
		var want []leafList
		for range rapid.IntRange(0, 4).Draw(t, "leaves") {
			l := leafList{leaf: rapid.Uint16().Draw(t, "leaf")}
			var rows []crdt.LeafRow
			shorts := rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "shorts")
			slices.Sort(shorts)
			for _, short := range shorts {
				row := crdt.LeafRow{ID: crdt.RowID{2: short, 3: short}, Digest: rapid.Uint64().Draw(t, "digest")}
				rows = append(rows, row)
				l.marks = append(l.marks, markOf(row, session))
			}
			packed = appendLeaf(packed, l.leaf, rows, session)
			want = append(want, l)
		}
		var r request
		if err := r.readLeaves(packed); err != nil {
			t.Fatal(err)
		}
		equal := slices.EqualFunc(r.leaves, want, func(a, b leafList) bool { return a.leaf == b.leaf && slices.Equal(a.marks, b.marks) })
		if !equal {
			t.Fatalf("got %v, want %v", r.leaves, want)
		}
	})
}

func TestVectorsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var v, got vector
		used := rapid.SampledFrom([]int{0, 1, 20, maxSparse - 1, maxSparse, maxSparse + 1, 256}).Draw(t, "used")
		for i := range used {
			v[(i*7+3)%256] = rapid.Uint32Min(1).Draw(t, "digest")
		}
		b := v.encode()
		if !isVector(b) || len(b) > denseVectorBytes {
			t.Fatalf("%d digests became %d bytes that are no vector", used, len(b))
		}
		got.decode(b)
		if got != v {
			t.Fatalf("got %v, want %v", got, v)
		}
	})
}

// Two digests that look alike in one session do not in another.
func TestFoldingDiffersBySession(t *testing.T) {
	const a, b = 1, 2 // with a small factor both are cut to 0
	if fold(a, 5) != fold(b, 5) {
		t.Fatal("the test shows nothing")
	}
	if fold(a, 0x9e3779b97f4a7c15) == fold(b, 0x9e3779b97f4a7c15) || fold(0, 0x9e3779b97f4a7c15) != 0 {
		t.Fatal("alike in every session, or nothing is something")
	}
}

func FuzzVector(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{3, 1, 2, 3, 4, 9, 1, 2, 3, 4})
	f.Add(make([]byte, denseVectorBytes))
	f.Fuzz(func(t *testing.T, b []byte) {
		if !isVector(b) {
			return
		}
		var v, again vector
		v.decode(b)
		again.decode(v.encode())
		if again != v {
			t.Fatalf("%v came back as %v", v, again)
		}
	})
}

func FuzzRequest(f *testing.F) {
	f.Add(goodLeaves(), []byte{}, []byte{})
	f.Add([]byte{}, []byte{1, 2}, []byte{})
	f.Add(goodLeaves(), []byte{}, make([]byte, 16))
	f.Fuzz(func(t *testing.T, leaves, groups, after []byte) {
		w := leavesRequest()
		w.Leaves, w.Groups, w.After = leaves, groups, after
		r, err := readRequest(w)
		if err != nil {
			return
		}
		core := testCore("eu-1", "eu")
		core.PeerUp(Peer{"us-1", "us"})
		for _, key := range []string{"a", "b", "c"} {
			record(core, testName(key), testEntry("eu", 1))
		}
		// Whatever is asked is answered, within the bounds of a frame.
		core.hearRequest(0, core.byName["us-1"], r)
		answered := false
		for _, m := range tickOf(core, 0, testNowUnix) {
			in := Decode(m.Frame(0))
			if in.malformed != nil {
				t.Fatal(in.malformed)
			}
			answered = answered || (in.reply != nil && in.reply.number == r.number)
		}
		if !answered {
			t.Fatalf("no answer to %v", r)
		}
	})
}

func FuzzReply(f *testing.F) {
	f.Add([]byte{3, 1, 2, 3, 4}, []byte{}, []byte{1, 2, 3, 4}, uint32(1))
	f.Add(bytes.Repeat([]byte{1}, denseVectorBytes), make([]byte, 16), []byte{}, uint32(0))
	f.Fuzz(func(t *testing.T, vec, after, wants []byte, done uint32) {
		r, err := readReply(&wirev1.SyncAnswer{
			Session: 1, Number: 1, LeavesDone: done, After: after, Wants: wants,
			Spans:  []*wirev1.Span{{StartUnixSeconds: testNowUnix - 100, EndUnixSeconds: testNowUnix + 1000, Groups: vec}},
			Groups: []*wirev1.Group{{Group: 7, Leaves: vec}},
		})
		if err != nil {
			return
		}
		for kind := range 3 {
			core := testCore("eu-1", "eu")
			core.PeerUp(Peer{"us-1", "us"})
			record(core, testName("a"), testEntry("eu", 1))
			p, span := core.byName["us-1"], crdt.Span{Start: testNowUnix - 100, End: testNowUnix + 1000}
			p.session.begin(0, 1, 0)
			p.session.opens([]openRequest{{}, {groups: []groupItem{{span: span}}}, {leaves: []leafItem{{span: span}, {span: span}}}}[kind])
			in := &Inbound{reply: r}
			for range 1 << 20 {
				if !core.hearReply(0, p, in) {
					break
				}
			}
			if len(p.session.open) != 0 {
				t.Fatal("an answered request stays open")
			}
			tickOf(core, 0, testNowUnix)
		}
	})
}
