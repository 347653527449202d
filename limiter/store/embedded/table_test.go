package embedded

import (
	"testing"

	"pgregory.net/rapid"

	"weir/limiter/bucket"
	"weir/limiter/store"
)

// TestTableIsAMap compares the table with a map, with hashes that collide.
func TestTableIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spread := rapid.SampledFrom([]uint64{1, 1 << 40, 1 << 58, 1 << 62}).Draw(t, "spread")
		hash := func(id *store.ID) uint64 { return uint64(id[0]) * spread }
		var table table
		model := make(map[store.ID]int64)
		now := int64(1)
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			now += rapid.Int64Range(0, 2).Draw(t, "later")
			id := store.ID{byte(rapid.IntRange(0, 255).Draw(t, "id"))}
			until := now + rapid.Int64Range(1, 100).Draw(t, "lives")
			if have := table.find(hash(&id), &id); have != nil {
				have.FullAtUs = until
			} else {
				table.dropEnded(now, rapid.IntRange(0, 5).Draw(t, "look"), hash)
				if !table.hasRoom() {
					table.rebuild(now, hash)
				}
				table.insert(hash(&id), id, bucket.State{FullAtUs: until})
			}
			model[id] = until
			check(t, &table, model, now, hash)
		}
	})
}

func check(t *rapid.T, table *table, model map[store.ID]int64, now int64, hash func(*store.ID) uint64) {
	for id, until := range model {
		have := table.find(hash(&id), &id)
		switch {
		case have == nil && until > now:
			t.Fatalf("%v is gone", id[0])
		case have != nil && have.FullAtUs != until:
			t.Fatalf("%v is %d, want %d", id[0], have.FullAtUs, until)
		}
	}
	used := 0
	for _, s := range table.slots {
		if s.state.FullAtUs != 0 {
			used++
		}
	}
	if used != table.used || used*5 > len(table.slots)*4 {
		t.Fatalf("%d of %d used, counted as %d", used, len(table.slots), table.used)
	}
}
