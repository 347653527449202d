package region

import (
	"context"
	"log/slog"
	"time"

	"weir/crdt"
	"weir/gossip"
	"weir/limiter/store"
	wirev1 "weir/proto/wire/v1"
	"weir/region/snapshot"
)

// persister writes changed rows to the snapshot.
type persister struct {
	mesh     *gossip.Mesh
	file     *snapshot.File
	interval time.Duration
	log      *slog.Logger
}

// saveChunk is how many rows are copied out of the mesh at a time.
const saveChunk = 10_000

// run saves at every interval until the context ends.
func (p *persister) run(ctx context.Context) {
	tick := time.NewTicker(p.interval)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := p.save(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			p.log.Error("snapshot failed; it is tried again every interval and decisions go on", "err", err)
		}
		if err == nil && failing {
			p.log.Info("snapshot written again")
		}
		failing = err != nil
	}
}

// save writes all rows that changed since they were last saved, then drops
// ended periods. What could not be written is still unsaved.
func (p *persister) save(ctx context.Context) error {
	for {
		rows := p.mesh.TakeUnsaved(saveChunk)
		if len(rows) == 0 {
			break
		}
		if err := p.file.Save(ctx, wireRows(rows)); err != nil {
			for _, row := range rows {
				p.mesh.MarkUnsaved(row.Name().ID())
			}
			return err
		}
		if len(rows) < saveChunk {
			break
		}
	}
	_, err := p.file.DropEnded(time.Now().Add(-store.RowGrace).Unix())
	return err
}

func wireRows(rows []*crdt.Row) []*wirev1.Row {
	out := make([]*wirev1.Row, len(rows))
	for i, row := range rows {
		name := row.Name()
		w := &wirev1.Row{Rule: name.Rule, Key: name.Key, StartUnixSeconds: name.Start,
			EndUnixSeconds: name.End, Generation: name.Generation}
		for _, e := range row.Entries() {
			w.Entries = append(w.Entries, &wirev1.Entry{RegionName: e.Replica.Region, Replica: e.Replica.Nonce,
				Version: e.Version, Taken: uint64(e.Taken), Returned: uint64(e.Returned)})
		}
		out[i] = w
	}
	return out
}

// restore hands every row of the snapshot to add.
func restore(ctx context.Context, file *snapshot.File, add func(*crdt.Row)) (rows int, err error) {
	return file.Load(ctx, func(rows []*wirev1.Row) error {
		for _, w := range rows {
			row := crdt.NewRow(crdt.RowName{Rule: w.Rule, Key: w.Key, Start: w.StartUnixSeconds,
				End: w.EndUnixSeconds, Generation: w.Generation})
			for _, e := range w.Entries {
				row.Merge(crdt.Entry{Replica: crdt.Replica{Region: e.RegionName, Nonce: e.Replica},
					Version: e.Version, Taken: int64(e.Taken), Returned: int64(e.Returned)})
			}
			add(row)
		}
		return nil
	})
}
