package region

import (
	"context"

	"weir/crdt"
	wirev1 "weir/proto/wire/v1"
)

// wireRows writes rows as the snapshot keeps them.
func wireRows(rows []*crdt.Row) []*wirev1.Row {
	out := make([]*wirev1.Row, len(rows))
	for i, row := range rows {
		name := row.Name()
		w := &wirev1.Row{Rule: name.Rule, Key: name.Key, StartUnixSeconds: name.Start,
			EndUnixSeconds: name.End, Generation: name.Generation}
		for _, e := range row.Entries() {
			w.Entries = append(w.Entries, wireEntry(e))
		}
		out[i] = w
	}
	return out
}

func wireEntry(e crdt.Entry) *wirev1.Entry {
	w := &wirev1.Entry{RegionName: e.Replica.Region, Replica: e.Replica.Nonce, Version: e.Version,
		Taken: uint64(e.Taken), Returned: uint64(e.Returned), Granted: uint64(e.Granted), Unmet: uint64(e.Unmet)}
	for region, units := range e.Gifts.All() {
		w.Gifts = append(w.Gifts, &wirev1.Gift{RegionName: region, Units: uint64(units)})
	}
	return w
}

func entryOf(w *wirev1.Entry) crdt.Entry {
	e := crdt.Entry{Replica: crdt.Replica{Region: w.RegionName, Nonce: w.Replica}, Version: w.Version,
		Taken: int64(w.Taken), Returned: int64(w.Returned), Granted: int64(w.Granted), Unmet: int64(w.Unmet)}
	for _, g := range w.Gifts {
		e.Gifts = e.Gifts.With(g.RegionName, int64(g.Units))
	}
	return e
}

// restore hands every row of the snapshot to add.
func (p *persister) restore(ctx context.Context, add func(*crdt.Row)) (rows int, err error) {
	return p.current().Load(ctx, func(rows []*wirev1.Row) error {
		for _, w := range rows {
			row := crdt.NewRow(crdt.RowName{Rule: w.Rule, Key: w.Key, Start: w.StartUnixSeconds,
				End: w.EndUnixSeconds, Generation: w.Generation})
			for _, e := range w.Entries {
				row.Merge(entryOf(e))
			}
			add(row)
		}
		return nil
	})
}
