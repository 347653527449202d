package giving

import (
	"testing"
	"time"

	"weir/crdt"
)

// TestWantsEnd: a want counts while it is said again, whatever else the
// replica's entry tells, and not for ever.
func TestWantsEnd(t *testing.T) {
	for _, in := range []struct {
		name   string
		change func(w *Want)
		want   bool
	}{
		{"an entry left behind", func(*Want) {}, false},
		{"said again", func(w *Want) { w.Version++ }, true},
		{"a larger one", func(w *Want) { w.Version++; w.Taken++; w.Units++ }, true},
		{"its replica goes on", func(w *Want) { w.Version++; w.Taken++ }, true},
		{"its region gave", func(w *Want) { w.Version++; w.Moved++ }, false},
	} {
		p, v := policy(t), view(10, 0).wants(1, 1)
		if _, ok := p.Gift(0, v); !ok {
			t.Fatal("a want that is new was not met")
		}
		in.change(&v.Wants[0])
		p.Gift(time.Second, v)
		if _, ok := p.Gift(wantTime, v); ok != in.want {
			t.Errorf("%s: met %v, want %v", in.name, ok, in.want)
		}
		if _, ok := p.Gift(time.Second+wantTime, v); ok {
			t.Errorf("%s: met for ever", in.name)
		}
	}
}

// TestADeadReplicasWant: what an earlier replica left unmet is not what the
// region wants now.
func TestADeadReplicasWant(t *testing.T) {
	p, v := policy(t), view(400, 0).wants(1, 300)
	p.Gift(0, v)
	v.Wants = append(v.Wants, Want{Region: 1, Nonce: 8, Version: 1, Units: 1})
	g, ok := p.Gift(wantTime, v)
	if !ok || g.Target > 200 {
		t.Errorf("%+v, %v", g, ok)
	}
}

// TestRowsRememberedAreBounded: the row used longest ago goes first.
func TestRowsRememberedAreBounded(t *testing.T) {
	p, v := policy(t), view(10, 10)
	look := func(row byte) {
		v.ID = crdt.RowID{row}
		p.Gift(0, v)
	}
	for row := range byte(4) {
		look(row)
	}
	look(0)
	look(4)
	if _, known := p.memories.rows[crdt.RowID{1}]; known || len(p.memories.rows) != 4 || p.Evicted() != 1 {
		t.Errorf("row 1 known: %v, %d rows, %d evicted", known, len(p.memories.rows), p.Evicted())
	}
	for m, n := p.memories.newest, 0; m != nil; m, n = m.older, n+1 {
		if p.memories.rows[m.id] != m || n >= 4 {
			t.Fatalf("the list holds %v", m.id)
		}
	}
}

// TestDemandFollows: the average comes near a rate within two seconds, forgets
// it as fast, and knows regions by name.
func TestDemandFollows(t *testing.T) {
	p, v := policy(t), view(1e6, 1e6)
	now := hot(p, v, 1, 1000)
	if d := p.memories.newest.demand[1].perSecond; d < 800 || d > 1000 {
		t.Errorf("%.0f a second after two seconds of 1000", d)
	}
	for range 40 {
		now += tick
		p.Gift(now, v)
	}
	if d := p.memories.newest.demand[1].perSecond; d > 100 {
		t.Errorf("%.0f a second after four seconds of none", d)
	}
	v.Regions[1].Name = "s"
	if p.Gift(now, v); p.memories.newest.demand[1] != (demand{region: "s", taken: v.Regions[1].Taken}) {
		t.Errorf("another region goes on as %+v", p.memories.newest.demand[1])
	}
}
