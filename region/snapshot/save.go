package snapshot

import (
	"bytes"
	"context"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	wirev1 "weir/proto/wire/v1"
)

// chunkRows bounds the rows of one transaction: what a transaction changes
// stays in memory until it is committed.
const chunkRows = 10_000

// Save writes rows, each replacing what stood under its name, and returns when
// they are on disk. Where two have the same name, the later counts. Every
// entry's region_name must be set, else nothing is written. Rows go in chunks
// of 10 000, each whole or not at all: on an error, as when the disk is full or
// ctx ends, the first chunks may have been written and the call may be
// repeated. The rows are only read, and not kept.
func (f *File) Save(ctx context.Context, rows []*wirev1.Row) error {
	return f.failed("save to", f.save(ctx, rows))
}

func (f *File) save(ctx context.Context, rows []*wirev1.Row) error {
	records, err := encodeAll(rows)
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(records, chunkRows) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f.update(func(tx *bbolt.Tx) error { return put(tx, chunk) }); err != nil {
			return err
		}
		f.mu.Lock()
		f.stats.RowsSaved += uint64(len(chunk))
		f.mu.Unlock()
	}
	f.mu.Lock()
	f.stats.LastSave = time.Now()
	f.mu.Unlock()
	return nil
}

// encodeAll returns the records of rows in the order of the file: in random
// order bbolt is 20 times slower.
func encodeAll(rows []*wirev1.Row) ([]record, error) {
	records := make([]record, len(rows))
	for i, row := range rows {
		var err error
		if records[i], err = encode(row); err != nil {
			return nil, err
		}
		records[i].at = i
	}
	slices.SortFunc(records, func(a, b record) int {
		if c := bytes.Compare(a.period[:], b.period[:]); c != 0 {
			return c
		}
		if c := bytes.Compare(a.key[:], b.key[:]); c != 0 {
			return c
		}
		return a.at - b.at
	})
	return records, nil
}

// put writes sorted records.
func put(tx *bbolt.Tx, records []record) error {
	var bucket *bbolt.Bucket
	var period [periodLen]byte
	for i := range records {
		r := &records[i]
		if bucket == nil || r.period != period {
			var err error
			if bucket, err = tx.CreateBucketIfNotExists(r.period[:]); err != nil {
				return err
			}
			bucket.FillPercent = 1 // 0.5, the default, doubles the file
			period = r.period
		}
		if err := bucket.Put(r.key[:], r.value); err != nil {
			return err
		}
	}
	return nil
}

// DropEnded removes the periods that ended at or before nowUnix, in Unix
// seconds, and returns how many rows they held. The caller subtracts the grace
// that late entries are given.
func (f *File) DropEnded(nowUnix int64) (rows int, err error) {
	rows, err = f.dropEnded(nowUnix)
	return rows, f.failed("drop ended periods from", err)
}

func (f *File) dropEnded(nowUnix int64) (rows int, err error) {
	ended, err := f.endedPeriods(nowUnix)
	if err != nil {
		return 0, err
	}
	for _, name := range ended {
		n, err := f.dropPeriod(name)
		if err != nil {
			return rows, err
		}
		rows += n
	}
	return rows, nil
}

// endedPeriods returns the names of the periods that end at or before nowUnix.
func (f *File) endedPeriods(nowUnix int64) (names [][]byte, err error) {
	err = f.view(func(tx *bbolt.Tx) error {
		c := tx.Cursor()
		for name, _ := c.Seek([]byte{periodPrefix}); name != nil; name, _ = c.Next() {
			end, ok := periodEnd(name)
			if !ok || end > nowUnix {
				return nil
			}
			names = append(names, bytes.Clone(name))
		}
		return nil
	})
	return names, err
}

// dropPeriod removes one period and returns how many rows it held.
func (f *File) dropPeriod(name []byte) (rows int, err error) {
	err = f.update(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(name)
		if bucket == nil {
			return nil // dropped by another call meanwhile
		}
		rows = bucket.Stats().KeyN
		return tx.DeleteBucket(name)
	})
	if err != nil {
		return 0, err
	}
	return rows, nil
}
