package gossip

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/crdt"
)

func entryGen() *rapid.Generator[crdt.Entry] {
	units := rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, crdt.MaxUnits))
	return rapid.Custom(func(t *rapid.T) crdt.Entry {
		e := crdt.Entry{
			Replica:  crdt.Replica{Region: rapid.SampledFrom(testRegions).Draw(t, "region"), Nonce: rapid.Uint64Range(1, 3).Draw(t, "nonce")},
			Version:  rapid.Uint64Min(1).Draw(t, "version"),
			Taken:    units.Draw(t, "taken"),
			Returned: units.Draw(t, "returned"),
		}
		if rapid.Bool().Draw(t, "further") {
			e.Granted, e.Unmet = units.Draw(t, "granted"), units.Draw(t, "unmet")
			for _, to := range testRegions {
				if to != e.Replica.Region {
					e.Gifts = e.Gifts.With(to, units.Draw(t, "gift"))
				}
			}
		}
		return e
	})
}

// What is packed comes out again.
func TestDeltasComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table replicaTable
		var packed []byte
		var want []inboundRow
		region := func(name string) uint32 { return uint32(slices.Index(testRegions, name)) }
		for i := range rapid.IntRange(0, 5).Draw(t, "rows") {
			row := crdt.NewRow(testName(fmt.Sprint(i)))
			for range rapid.IntRange(1, 4).Draw(t, "entries") {
				row.Merge(entryGen().Draw(t, "entry"))
			}
			only := wholeRow
			if rapid.Bool().Draw(t, "one") {
				only = rapid.SampledFrom(row.Entries()).Draw(t, "only").Replica
			}
			kept := slices.DeleteFunc(slices.Clone(row.Entries()), func(e crdt.Entry) bool { return only != wholeRow && e.Replica != only })
			want = append(want, inboundRow{id: row.Name().ID(), entries: kept})
			packed = table.appendDelta(packed, row.Name().ID(), row.Entries(), only, region)
		}
		r := deltaReader{regions: testRegions}
		if err := r.readReplicas(table.encoded); err != nil {
			t.Fatal(err)
		}
		r.b = packed
		for _, w := range want {
			got, err := r.readRow()
			if err != nil || got.named || got.id != w.id || !slices.Equal(got.entries, w.entries) {
				t.Fatalf("got %v, %v, want %v", got, err, w)
			}
		}
		if len(r.b) != 0 || r.invalid != 0 {
			t.Fatalf("%d bytes left, %d entries invalid", len(r.b), r.invalid)
		}
	})
}

// TestADeltaTakesFewBytes counts everything that is sent for it: the target is
// 32 bytes.
func TestADeltaTakesFewBytes(t *testing.T) {
	const rows = 1000 // of one tick
	us, eu := testCore("us-1", "us"), testCore("eu-1", "eu")
	us.PeerUp(Peer{"eu-1", "eu"})
	eu.PeerUp(Peer{"us-1", "us"})
	record := func(version uint64) {
		for i := range rows {
			e := testEntry("us", version)
			e.Replica.Nonce, e.Taken, e.Returned = 0x9e3779b97f4a7c15, int64(version)*3, int64(version/10)
			record(us, testName(fmt.Sprintf("customer-%022d", i)), e)
		}
	}
	record(100_000)
	tick := func(now time.Duration, want int) (bytes int) {
		for _, m := range tickOf(us, now, testNowUnix) {
			if in := Decode(m.Frame(0)); len(in.rows) > 0 {
				bytes += len(m.Frame(0))
			}
			if err := step(eu, 0, m.Frame(0)); err != nil {
				t.Fatal(err)
			}
		}
		if eu.Len() != rows || int(eu.Changes()) != want*rows {
			t.Fatalf("%d rows, %d changes arrived, want %d", eu.Len(), eu.Changes(), want*rows)
		}
		return bytes
	}
	tick(0, 1)
	tick(freshFor, 1)
	tick(2*freshFor, 1) // no row is new any more
	record(100_500)
	if perRow := float64(tick(2*freshFor, 2)) / rows; perRow > 32 {
		t.Errorf("a delta takes %.1f bytes, want at most 32", perRow)
	} else {
		t.Logf("a delta takes %.1f bytes", perRow)
	}
}

// A change of a row whose name never came is asked for and comes whole.
func TestAChangeOfAnUnknownRowIsAskedFor(t *testing.T) {
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"us-1", "us"})
	c.pumped(10)
	restore(c.cores["us-1"], testName("k"), testEntry("ap", 4)) // not news
	record(c.cores["us-1"], testName("k"), testEntry("us", 5))
	c.tick()
	c.pump()
	c.wantEverywhere("k", 9)
	if n := c.cores["eu-1"].Counters(); n.RowsUnknown != 1 {
		t.Fatalf("%d rows were asked for, want 1", n.RowsUnknown)
	}
}

// Who is about to leave tells names: nobody could ask it any more.
func TestALeavingNodeTellsNames(t *testing.T) {
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"us-1", "us"})
	c.pumped(10)
	restore(c.cores["us-1"], testName("k"), testEntry("ap", 4)) // not news
	record(c.cores["us-1"], testName("k"), testEntry("us", 5))
	c.cores["us-1"].Farewell()
	for _, m := range tickOf(c.cores["us-1"], c.now, testNowUnix) {
		if err := step(c.cores["eu-1"], c.now, m.Frame(0)); err != nil {
			t.Fatal(err)
		}
	}
	if c.value("eu-1", "k") != 5 {
		t.Fatal("the last news came without a name")
	}
}

// A full node does not ask for what it cannot hold, nor begins sessions in vain.
func TestAFullNodeDoesNotAskInVain(t *testing.T) {
	c := newCluster(t, Peer{"eu-1", "eu"}, Peer{"us-1", "us"})
	c.cores["eu-1"] = NewCore(CoreConfig{Node: "eu-1", Region: "eu", Regions: testRegions, MaxRows: 1, Rand: c.cores["eu-1"].rand, NowUnix: testNowUnix})
	c.cores["eu-1"].PeerUp(Peer{"us-1", "us"})
	restore(c.cores["eu-1"], testName("held"), testEntry("eu", 1))
	for i := range 100 {
		restore(c.cores["us-1"], testName(fmt.Sprint(i)), testEntry("us", 1))
	}
	restore(c.cores["us-1"], testName("held"), testEntry("us", 2))
	c.pumped(20)
	if c.value("eu-1", "held") != 3 || c.value("us-1", "held") != 3 {
		t.Fatal("what both hold is not repaired")
	}
	sent := c.cores["us-1"].Counters().RowsSent
	record(c.cores["us-1"], testName("7"), testEntry("us", 2))
	c.pumped(50)
	n := c.cores["eu-1"].Counters()
	if n.RowsUnknown != 0 || n.RefusedFull == 0 || c.cores["us-1"].Counters().RowsSent > sent+1 {
		t.Fatalf("a full node asked: %+v", n)
	}
}

func FuzzDeltas(f *testing.F) {
	f.Add([]byte{1, 1, 2, 3, 4, 5, 6, 7, 8}, goodDelta())
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, replicas, deltas []byte) {
		r := deltaReader{regions: []string{"us", "eu"}}
		if r.readReplicas(replicas) != nil {
			return
		}
		r.b = deltas
		var table replicaTable
		var again []byte
		for len(r.b) > 0 {
			row, err := r.readRow()
			if err != nil {
				return
			}
			for _, e := range row.entries {
				if err := e.Validate(); err != nil {
					t.Fatal(err)
				}
			}
			again = table.appendDelta(again, row.id, row.entries, wholeRow, func(name string) uint32 {
				return uint32(slices.Index(r.regions, name))
			})
		}
		if len(again) > len(deltas) {
			t.Fatalf("%d bytes became %d", len(deltas), len(again))
		}
	})
}
