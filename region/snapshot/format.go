package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
)

// formatVersion is the format that this code reads and writes.
const formatVersion = 1

var (
	metaBucket = []byte("meta")
	formatKey  = []byte("format")
)

// checkFormat writes the format version into a fresh file and compares it in
// any other.
func checkFormat(db *bbolt.DB) error {
	fresh := false
	err := db.View(func(tx *bbolt.Tx) error {
		meta := tx.Bucket(metaBucket)
		if meta == nil {
			name, _ := tx.Cursor().First()
			fresh = name == nil
			if !fresh {
				return fmt.Errorf("%w: it holds %q and no format version", ErrForeign, name)
			}
			return nil
		}
		return compareFormat(meta.Get(formatKey))
	})
	if err != nil || !fresh {
		return err
	}
	return db.Update(func(tx *bbolt.Tx) error {
		meta, err := tx.CreateBucket(metaBucket)
		if err != nil {
			return err
		}
		return meta.Put(formatKey, binary.BigEndian.AppendUint32(nil, formatVersion))
	})
}

// compareFormat says whether a file of the stored format version can be used.
func compareFormat(stored []byte) error {
	if len(stored) != 4 {
		return fmt.Errorf("%w: it holds no format version", ErrForeign)
	}
	switch version := binary.BigEndian.Uint32(stored); {
	case version > formatVersion:
		return fmt.Errorf("%w: its format is %d, this version of weir knows %d; run the newer one, or move the file away",
			ErrNewerFormat, version, formatVersion)
	case version != formatVersion:
		return errors.Join(ErrForeign, fmt.Errorf("unknown format %d", version))
	}
	return nil
}
