package limiter

import (
	"crypto/sha256"
	"encoding/binary"

	"weir/limiter/rule"
	"weir/limiter/store"
)

// identity digests a bucket's key into the ID its state is stored under. SHA-256
// so that no client can choose a key that lands on another client's state.
// Every part goes in with its length, so that no two lists of parts read alike.
type identity struct{ buf []byte }

func (d *identity) start() { d.buf = d.buf[:0] }

func (d *identity) part(s string) {
	d.buf = binary.AppendUvarint(d.buf, uint64(len(s)))
	d.buf = append(d.buf, s...)
}

func (d *identity) sum() (id store.ID) {
	sum := sha256.Sum256(d.buf)
	copy(id[:], sum[:])
	return id
}

// bucket names the bucket of limit number i of a rule for one counted key. What
// a rule counts by is part of the name: a rule that changes it begins anew. (A
// quota is named by its row, and that by the Ledger: it has one name in the
// store and between nodes.)
func (d *identity) bucket(r *rule.Rule, i int, key string) store.ID {
	d.start()
	d.part(r.Name)
	for _, name := range r.CountBy {
		d.part(name)
	}
	d.part(key)
	d.buf = binary.AppendVarint(d.buf, int64(i))
	return d.sum()
}

// tag puts a subject under one of the store's hash tags.
func (d *identity) tag(name, value string) uint16 {
	d.start()
	d.part(name)
	d.part(value)
	sum := d.sum()
	return binary.BigEndian.Uint16(sum[:]) % store.Tags
}

// Tag is the hash tag under which the store keeps the state of a rule for a key
// that rule.Rule.Key gave.
func Tag(r *rule.Rule, key string) uint16 {
	var d identity
	return d.tag(r.SubjectOf(key))
}
