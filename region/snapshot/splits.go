package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
	"google.golang.org/protobuf/proto"

	wirev1 "weir/proto/wire/v1"
)

// ErrSplits says that the splits in the file are not what was written. The rows
// are not affected.
var ErrSplits = errors.New("damaged splits")

// splitsKey is where they stand in the meta bucket. A Weir that does not know
// them leaves them.
var splitsKey = []byte("splits")

// SaveSplits writes how rights are shared out in place of what was there, and
// returns when it is on disk.
func (f *File) SaveSplits(s *wirev1.Splits) error { return f.failed("save splits to", f.saveSplits(s)) }

func (f *File) saveSplits(s *wirev1.Splits) error {
	body, err := proto.Marshal(s)
	if err != nil {
		return fmt.Errorf("splits: %w", err)
	}
	value := binary.BigEndian.AppendUint32(nil, checksum(metaBucket, splitsKey, body))
	value = append(value, body...)
	return f.update(func(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Put(splitsKey, value) })
}

// LoadSplits returns what was saved last, nil for none. An error is ErrSplits,
// or one of the file's.
func (f *File) LoadSplits() (s *wirev1.Splits, err error) {
	err = f.view(func(tx *bbolt.Tx) error {
		s, err = decodeSplits(tx.Bucket(metaBucket).Get(splitsKey))
		return err
	})
	return s, f.failed("load splits from", err)
}

// decodeSplits reads what was stored. It shares nothing with value.
func decodeSplits(value []byte) (*wirev1.Splits, error) {
	if value == nil {
		return nil, nil //nolint:nilnil // none were saved
	}
	if len(value) < checksumLen || binary.BigEndian.Uint32(value) != checksum(metaBucket, splitsKey, value[checksumLen:]) {
		return nil, ErrSplits
	}
	s := new(wirev1.Splits)
	if err := proto.Unmarshal(value[checksumLen:], s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSplits, err)
	}
	return s, nil
}
