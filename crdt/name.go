package crdt

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// MaxNameBytes bounds a row's rule name and its key, each.
const MaxNameBytes = 1024

// ErrName is wrapped by every error that says a row's name breaks the rules.
var ErrName = errors.New("invalid row name")

// RowID is the digest that stands for a RowName: the first 16 bytes of a
// SHA-256, so that nobody can choose a key that lands on another's.
type RowID [16]byte

// RowName names one quota key in one period and generation.
type RowName struct {
	Rule, Key  string
	Start, End int64 // the period: [Start, End) in Unix seconds
	Generation uint32
}

// ID digests the name: SHA-256 over Start, End and Generation (big-endian, 8, 8
// and 4 bytes), the length of Rule (4 bytes), Rule, Key. No two names share an
// encoding.
func (n RowName) ID() RowID {
	var stack [256]byte
	b := stack[:0]
	b = binary.BigEndian.AppendUint64(b, uint64(n.Start))
	b = binary.BigEndian.AppendUint64(b, uint64(n.End))
	b = binary.BigEndian.AppendUint32(b, n.Generation)
	b = binary.BigEndian.AppendUint32(b, uint32(len(n.Rule)))
	b = append(b, n.Rule...)
	b = append(b, n.Key...)
	sum := sha256.Sum256(b)
	return RowID(sum[:len(RowID{})])
}

// Validate says which rule a name breaks: the rule's name has 1 to
// MaxNameBytes bytes, the key at most MaxNameBytes, and the period is not
// empty. The error wraps ErrName.
func (n RowName) Validate() error {
	switch {
	case n.Rule == "" || len(n.Rule) > MaxNameBytes:
		return fmt.Errorf("%w: rule has %d bytes, must have 1 to %d", ErrName, len(n.Rule), MaxNameBytes)
	case len(n.Key) > MaxNameBytes:
		return fmt.Errorf("%w: key has %d bytes, must have at most %d", ErrName, len(n.Key), MaxNameBytes)
	case n.End <= n.Start:
		return fmt.Errorf("%w: period ends at %d, must end after its start %d", ErrName, n.End, n.Start)
	}
	return nil
}
