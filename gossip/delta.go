package gossip

import (
	"encoding/binary"
	"errors"

	"weir/crdt"
)

// Deltas are the changes of rows that the receiver should know by name, packed
// by hand: 20 to 30 bytes a row. For each row there stand its ID (16 bytes), how
// many entries follow, and for each entry, as uvarints: twice the number of its
// replica in the frame's table, version, taken, returned. Where there is more
// the doubled number is raised by 1, and granted, unmet, how many gifts, and
// for each gift the region's number and its units follow. The table has for each
// replica the number of its region in the frame, a uvarint, and its nonce (8
// bytes, little-endian).

// replicaTable numbers the replicas of the deltas of one frame.
type replicaTable struct {
	numbers map[crdt.Replica]uint64
	encoded []byte
}

func (t *replicaTable) len() int { return len(t.encoded) }

func (t *replicaTable) number(r crdt.Replica, region func(string) uint32) uint64 {
	if n, ok := t.numbers[r]; ok {
		return n
	}
	if t.numbers == nil {
		t.numbers = make(map[crdt.Replica]uint64)
	}
	n := uint64(len(t.numbers))
	t.numbers[r] = n
	t.encoded = binary.AppendUvarint(t.encoded, uint64(region(r.Region)))
	t.encoded = binary.LittleEndian.AppendUint64(t.encoded, r.Nonce)
	return n
}

// appendDelta packs the entry of one replica, or all for wholeRow. Without
// entries there is nothing to add.
func (t *replicaTable) appendDelta(b []byte, id crdt.RowID, entries []crdt.Entry, only crdt.Replica, region func(string) uint32) []byte {
	count := 0
	for _, e := range entries {
		if only == wholeRow || e.Replica == only {
			count++
		}
	}
	if count == 0 {
		return b
	}
	b = append(b, id[:]...)
	b = binary.AppendUvarint(b, uint64(count))
	for _, e := range entries {
		if only == wholeRow || e.Replica == only {
			b = t.appendEntry(b, e, region)
		}
	}
	return b
}

func (t *replicaTable) appendEntry(b []byte, e crdt.Entry, region func(string) uint32) []byte {
	further := e.Granted != 0 || e.Unmet != 0 || e.Gifts != ""
	number := t.number(e.Replica, region) << 1
	if further {
		number |= 1
	}
	b = binary.AppendUvarint(b, number)
	b = binary.AppendUvarint(b, e.Version)
	b = binary.AppendUvarint(b, uint64(e.Taken))
	b = binary.AppendUvarint(b, uint64(e.Returned))
	if !further {
		return b
	}
	b = binary.AppendUvarint(b, uint64(e.Granted))
	b = binary.AppendUvarint(b, uint64(e.Unmet))
	b = binary.AppendUvarint(b, uint64(e.Gifts.Len()))
	for to, units := range e.Gifts.All() {
		b = binary.AppendUvarint(b, uint64(region(to)))
		b = binary.AppendUvarint(b, uint64(units))
	}
	return b
}

var (
	errShort   = errors.New("is cut short")
	errNumber  = errors.New("has a number past 64 bits, or longer than need be")
	errReplica = errors.New("names a replica that the frame does not list")
	errRegion  = errors.New("names a region that the frame does not list")
	errEntries = errors.New("has no entries, or too many")
	errGifts   = errors.New("has too many gifts")
	errOrder   = errors.New("is not in order")
	errVector  = errors.New("are neither 256 nor numbered")
)

// packedReader reads packed numbers; the first error stays.
type packedReader struct {
	b   []byte
	err error
}

func (r *packedReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

func (r *packedReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	switch {
	case n == 0:
		r.fail(errShort)
		return 0
	case n < 0 || (n > 1 && r.b[n-1] == 0):
		r.fail(errNumber)
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *packedReader) bytes(n int) []byte {
	if len(r.b) < n {
		r.fail(errShort)
		return make([]byte, n)
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

// deltaReader reads the deltas of one frame.
type deltaReader struct {
	packedReader
	regions  []string
	replicas []crdt.Replica
	// Entries left out because their numbers break the rules.
	invalid int
}

func (r *deltaReader) region() string {
	n := r.uvarint()
	if n >= uint64(len(r.regions)) {
		r.fail(errRegion)
		return ""
	}
	return r.regions[n]
}

// readReplicas reads the table.
func (r *deltaReader) readReplicas(table []byte) error {
	r.b = table
	for len(r.b) > 0 {
		region := r.region()
		nonce := binary.LittleEndian.Uint64(r.bytes(8))
		r.replicas = append(r.replicas, crdt.Replica{Region: region, Nonce: nonce})
	}
	return r.err
}

// minEntryBytes is what the shortest entry takes.
const minEntryBytes = 4

func (r *deltaReader) readRow() (row inboundRow, err error) {
	row.id = crdt.RowID(r.bytes(len(crdt.RowID{})))
	count := r.uvarint()
	switch {
	case r.err != nil:
		return row, r.err
	case count == 0 || count > crdt.MaxEntries:
		return row, errEntries
	case count > uint64(len(r.b))/minEntryBytes:
		return row, errShort
	}
	row.entries = make([]crdt.Entry, 0, count)
	for range count {
		e, sound := r.readEntry()
		switch {
		case r.err != nil:
			return row, r.err
		case !sound || e.Validate() != nil:
			r.invalid++
		default:
			row.entries = append(row.entries, e)
		}
	}
	return row, nil
}

func (r *deltaReader) readEntry() (e crdt.Entry, sound bool) {
	number := r.uvarint()
	if number>>1 >= uint64(len(r.replicas)) {
		r.fail(errReplica)
		return e, false
	}
	e.Replica = r.replicas[number>>1]
	e.Version = r.uvarint()
	e.Taken, e.Returned = int64(r.uvarint()), int64(r.uvarint())
	if number&1 == 0 {
		return e, true
	}
	e.Granted, e.Unmet = int64(r.uvarint()), int64(r.uvarint())
	gifts := r.uvarint()
	if gifts > crdt.MaxGiftRegions {
		r.fail(errGifts)
		return e, false
	}
	sound = true
	for range gifts {
		to, units := r.region(), r.uvarint()
		if units == 0 || units > crdt.MaxUnits || e.Gifts.To(to) != 0 {
			sound = false
			continue
		}
		e.Gifts = e.Gifts.With(to, int64(units))
	}
	return e, sound
}
