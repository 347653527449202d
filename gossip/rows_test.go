package gossip

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir/crdt"
)

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
