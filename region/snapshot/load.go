package snapshot

import (
	"bytes"
	"context"

	"go.etcd.io/bbolt"

	wirev1 "weir/proto/wire/v1"
)

// Load calls yield with every row in the file, at most 10 000 at a time, in
// the order of their periods' ends, and returns how many it gave. The rows are
// yield's to keep, the slice is not. A damaged row is counted in
// Stats.RowsSkipped and left out. Load ends with the error of ctx or of yield.
//
// Each call of yield sees one moment of the file and none is held open while
// yield runs: rows saved meanwhile are given as they were or as they are.
func (f *File) Load(ctx context.Context, yield func(rows []*wirev1.Row) error) (n int, err error) {
	n, err = f.load(ctx, yield)
	return n, f.failed("load from", err)
}

func (f *File) load(ctx context.Context, yield func(rows []*wirev1.Row) error) (n int, err error) {
	at := position{}
	chunk := make([]*wirev1.Row, 0, chunkRows)
	for !at.end {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		chunk = chunk[:0]
		if err := f.view(func(tx *bbolt.Tx) error { return f.read(tx, &at, &chunk) }); err != nil {
			return n, err
		}
		if len(chunk) == 0 {
			continue
		}
		if err := yield(chunk); err != nil {
			return n, err
		}
		n += len(chunk)
	}
	return n, nil
}

// position is how far Load came.
type position struct {
	period [periodLen]byte
	key    [rowKeyLen]byte
	inside bool // key was read; else the period is to be read from its start
	end    bool // nothing is left
}

// read appends rows from at on, until chunk is full, and moves at behind them.
func (f *File) read(tx *bbolt.Tx, at *position, chunk *[]*wirev1.Row) error {
	skipped := 0
	defer func() { f.skipped(skipped) }()
	periods := tx.Cursor()
	if !at.inside && at.period[0] == 0 {
		at.period[0] = periodPrefix
	}
	for name, _ := periods.Seek(at.period[:]); ; name, _ = periods.Next() {
		if _, ok := periodEnd(name); !ok {
			at.end = true
			return nil
		}
		if [periodLen]byte(name) != at.period {
			at.period, at.inside = [periodLen]byte(name), false
		}
		skipped += readPeriod(tx.Bucket(name).Cursor(), at, chunk)
		if len(*chunk) == cap(*chunk) {
			return nil
		}
	}
}

// readPeriod appends the rows of one period from at on until chunk is full,
// and returns how many were damaged.
func readPeriod(c *bbolt.Cursor, at *position, chunk *[]*wirev1.Row) (skipped int) {
	for key, value := seek(c, at); key != nil && len(*chunk) < cap(*chunk); key, value = c.Next() {
		row, err := decode(at.period[:], key, value)
		if err == nil {
			*chunk = append(*chunk, row)
		} else {
			skipped++
		}
		if len(key) == rowKeyLen {
			at.key, at.inside = [rowKeyLen]byte(key), true
		}
	}
	return skipped
}

// seek moves the cursor to the first key behind at.
func seek(c *bbolt.Cursor, at *position) (key, value []byte) {
	if !at.inside {
		return c.First()
	}
	key, value = c.Seek(at.key[:])
	if bytes.Equal(key, at.key[:]) {
		return c.Next()
	}
	return key, value
}

func (f *File) skipped(rows int) {
	if rows == 0 {
		return
	}
	f.mu.Lock()
	f.stats.RowsSkipped += uint64(rows)
	f.mu.Unlock()
	f.log.Warn("snapshot holds damaged rows: left out", "path", f.path, "rows", rows)
}
