package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"google.golang.org/protobuf/proto"

	wirev1 "weir/proto/wire/v1"
)

const (
	periodPrefix = 'p'
	periodLen    = 1 + 8
	rowKeyLen    = 16
	checksumLen  = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errDamagedRow says that a stored row is not what was written.
var errDamagedRow = errors.New("damaged row")

// record is a row as it stands in the file.
type record struct {
	period [periodLen]byte // the name of its bucket
	key    [rowKeyLen]byte
	value  []byte
	at     int // position in the call of Save
}

// periodName names the bucket of the rows whose period ends at end. Names sort
// as their ends do.
func periodName(end int64) [periodLen]byte {
	name := [periodLen]byte{periodPrefix}
	binary.BigEndian.PutUint64(name[1:], uint64(end)^1<<63)
	return name
}

// periodEnd reads the name of a bucket; ok is false for any other bucket.
func periodEnd(name []byte) (end int64, ok bool) {
	if len(name) != periodLen || name[0] != periodPrefix {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(name[1:]) ^ 1<<63), true
}

// rowKey names a row within its period: the first 16 bytes of a SHA-256 of
// rule, key, start and generation, the texts preceded by their lengths.
func rowKey(row *wirev1.Row) [rowKeyLen]byte {
	var room [256]byte
	name := binary.AppendUvarint(room[:0], uint64(len(row.GetRule())))
	name = append(name, row.GetRule()...)
	name = binary.AppendUvarint(name, uint64(len(row.GetKey())))
	name = append(name, row.GetKey()...)
	name = binary.BigEndian.AppendUint64(name, uint64(row.GetStartUnixSeconds()))
	name = binary.BigEndian.AppendUint32(name, row.GetGeneration())
	sum := sha256.Sum256(name)
	return [rowKeyLen]byte(sum[:rowKeyLen])
}

// encode makes the record of a row.
func encode(row *wirev1.Row) (record, error) {
	if err := validate(row); err != nil {
		return record{}, err
	}
	r := record{period: periodName(row.GetEndUnixSeconds()), key: rowKey(row)}
	size := proto.Size(row)
	value, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(
		make([]byte, checksumLen, checksumLen+size), row)
	if err != nil {
		return record{}, fmt.Errorf("row of rule %q: %w", row.GetRule(), err)
	}
	r.value = value
	binary.BigEndian.PutUint32(value, checksum(r.period[:], r.key[:], value[checksumLen:]))
	return r, nil
}

// decode reads a stored row. The row shares nothing with value.
func decode(period, key, value []byte) (*wirev1.Row, error) {
	if len(value) < checksumLen ||
		binary.BigEndian.Uint32(value) != checksum(period, key, value[checksumLen:]) {
		return nil, errDamagedRow
	}
	row := new(wirev1.Row)
	if err := proto.Unmarshal(value[checksumLen:], row); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamagedRow, err)
	}
	if err := validate(row); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamagedRow, err)
	}
	return row, nil
}

// validate refuses rows that mean nothing outside a frame.
func validate(row *wirev1.Row) error {
	if row == nil {
		return errors.New("row is nil")
	}
	for i, e := range row.GetEntries() {
		if e.GetRegionName() == "" {
			return fmt.Errorf("row of rule %q: entries[%d].region_name is empty: a snapshot has no list of regions for region to refer to",
				row.GetRule(), i)
		}
	}
	return nil
}

func checksum(period, key, row []byte) uint32 {
	sum := crc32.Update(0, castagnoli, period)
	sum = crc32.Update(sum, castagnoli, key)
	return crc32.Update(sum, castagnoli, row)
}
