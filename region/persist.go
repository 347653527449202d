package region

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weir/crdt"
	"weir/gossip"
	"weir/limiter/store"
	"weir/region/snapshot"
)

// persister writes changed rows to the snapshot, which it opened and closes.
type persister struct {
	mesh     *gossip.Mesh // set before the first save
	path     string
	interval time.Duration
	log      *slog.Logger

	mu   sync.Mutex // guards what follows; never held over input or output
	file *snapshot.File
	// past is what earlier files of this path counted, before they were found
	// damaged.
	past snapshot.Stats

	failing atomic.Bool // whether the last save failed

	saving sync.Mutex // held while rows are written or the file is replaced
	// splits are those that the file holds, nil for none that are known; guarded
	// by saving.
	splits *crdt.Splits
}

func newPersister(path string, interval time.Duration, log *slog.Logger) (*persister, error) {
	file, err := snapshot.Open(path, log)
	if err != nil {
		return nil, err
	}
	return &persister{path: path, interval: interval, log: log, file: file}, nil
}

// Close closes the file; rows that were not saved are lost.
func (p *persister) Close() error { return p.current().Close() }

func (p *persister) current() *snapshot.File {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.file
}

// Stats are those of the file, its counters added to those of the files it
// replaced.
func (p *persister) Stats() snapshot.Stats {
	p.mu.Lock()
	file, past := p.file, p.past
	p.mu.Unlock()
	s := file.Stats()
	s.RowsSaved += past.RowsSaved
	s.RowsSkipped += past.RowsSkipped
	s.Failures += past.Failures
	if s.LastSave.IsZero() {
		s.LastSave = past.LastSave
	}
	return s
}

// saveChunk is how many rows are copied out of the mesh at a time.
const saveChunk = 10_000

// run saves at every interval until the context ends.
func (p *persister) run(ctx context.Context) {
	tick := time.NewTicker(p.interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-p.mesh.GiftsToSave(): // others wait for them
		}
		err := p.save(ctx)
		failing := p.failing.Swap(err != nil)
		if err != nil && !failing && ctx.Err() == nil {
			p.log.Error("snapshot failed; it is tried again every interval and decisions go on", "err", err)
		}
		if err == nil && failing {
			p.log.Info("snapshot written again")
		}
	}
}

// save writes all rows that changed since they were last saved, then drops
// ended periods. What could not be written is still unsaved. A file that turns
// out to be damaged is replaced, and gets every row.
func (p *persister) save(ctx context.Context) error {
	p.saving.Lock()
	defer p.saving.Unlock()
	err := p.saveTo(ctx, p.current())
	if !errors.Is(err, snapshot.ErrCorrupt) && !errors.Is(err, snapshot.ErrClosed) {
		return err
	}
	if err := p.replace(); err != nil {
		return err
	}
	return p.saveTo(ctx, p.current())
}

// replace opens the path anew, which sets the damaged file aside, and marks all
// rows to be saved. If that fails the old file is closed, and the next save
// tries again.
func (p *persister) replace() error {
	old := p.current()
	if err := old.Close(); err != nil {
		p.log.Warn("close the damaged snapshot", "err", err)
	}
	file, err := snapshot.Open(p.path, p.log)
	if err != nil {
		return err
	}
	was := p.Stats()
	p.mu.Lock()
	p.file, p.past = file, was
	p.mu.Unlock()
	p.splits = nil
	var ids []crdt.RowID
	p.mesh.Each(func(row *crdt.Row) { ids = append(ids, row.Name().ID()) })
	for chunk := range slices.Chunk(ids, saveChunk) {
		p.mesh.MarkUnsaved(chunk...)
	}
	return nil
}

func (p *persister) saveTo(ctx context.Context, file *snapshot.File) error {
	if err := p.saveSplitsTo(file); err != nil {
		return err
	}
	for {
		rows := p.mesh.TakeUnsaved(saveChunk)
		if len(rows) == 0 {
			break
		}
		if err := file.Save(ctx, wireRows(rows)); err != nil {
			for _, row := range rows {
				p.mesh.MarkUnsaved(row.Name().ID())
			}
			return err
		}
		p.mesh.MarkDurable(rows)
		if len(rows) < saveChunk {
			break
		}
	}
	_, err := file.DropEnded(time.Now().Add(-store.RowGrace).Unix())
	return err
}
