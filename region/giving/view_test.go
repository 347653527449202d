package giving

import (
	"testing"
	"time"

	"weir/crdt"
)

func TestRead(t *testing.T) {
	row := crdt.NewRow(crdt.RowName{Rule: "r", Key: "k", End: 1})
	row.Merge(crdt.Entry{Replica: crdt.Replica{Region: "eu", Nonce: 1}, Version: 3, Taken: 10, Returned: 1, Gifts: crdt.Gifts("").With("us", 5)})
	row.Merge(crdt.Entry{Replica: crdt.Replica{Region: "us", Nonce: 2}, Version: 4, Taken: 20, Granted: 2, Unmet: 7})
	row.Merge(crdt.Entry{Replica: crdt.Replica{Region: "xx", Nonce: 2}, Version: 4, Taken: 1, Unmet: 7})
	v := View{Regions: []Region{{Name: "eu", Share: 50}, {Name: "us", Share: 30}}}
	for range 2 { // a view is used again
		v.Read(row, 100)
	}
	want := []Region{{Name: "eu", Share: 50, Rights: 36, Taken: 9}, {Name: "us", Share: 30, Rights: 17, Taken: 20, Given: 5}}
	if v.Left != 70 || v.ID != row.Name().ID() || v.Regions[0] != want[0] || v.Regions[1] != want[1] {
		t.Errorf("%+v", v)
	}
	if len(v.Wants) != 1 || v.Wants[0] != (Want{Region: 1, Nonce: 2, Version: 4, Units: 7, Taken: 20, Moved: 2}) {
		t.Errorf("wants %+v", v.Wants)
	}
}

// busy is a view of which a gift comes every time.
func busy(b testing.TB) (*HalfSurplus, *View, time.Duration) {
	b.Helper()
	p, v := policy(b), view(10_000, 10_000, 10_000)
	now := hot(p, v, 1, 1000)
	v.Regions[1].Rights = 100
	v.wants(1, 200)
	return p, v, now
}

func TestGiftAllocatesNothing(t *testing.T) {
	p, v, now := busy(t)
	if n := testing.AllocsPerRun(100, func() { p.Gift(now, v) }); n != 0 {
		t.Errorf("%.0f allocations", n)
	}
}

// BenchmarkGift: a row that changed and needs nothing, as most do, and one where
// a gift is due.
func BenchmarkGift(b *testing.B) {
	for _, name := range []string{"none", "due"} {
		b.Run(name, func(b *testing.B) {
			p, v, now := busy(b)
			if name == "none" {
				v.Regions[1].Rights, v.Wants = 10_000, nil
			}
			b.ReportAllocs()
			for b.Loop() {
				now += tick
				v.Regions[1].Taken += 100
				if len(v.Wants) > 0 {
					v.Wants[0].Version++
				}
				if _, ok := p.Gift(now, v); ok != (name == "due") {
					b.Fatalf("a gift: %v", ok)
				}
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	_, v, _ := busy(b)
	row := crdt.NewRow(crdt.RowName{Rule: "r", Key: "k", End: 1})
	for i := range v.Regions {
		row.Merge(crdt.Entry{Replica: crdt.Replica{Region: v.Regions[i].Name, Nonce: 1}, Version: 3, Taken: 10, Gifts: crdt.Gifts("").With("x", 5)})
	}
	b.ReportAllocs()
	for b.Loop() {
		v.Read(row, 100_000)
	}
}
