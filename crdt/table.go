package crdt

import (
	"errors"
	"slices"
	"strings"
)

// MaxEntries is how many replicas one row may have. A region gains one with
// each reign of its store and each process that had to decide alone.
const MaxEntries = 4096

var (
	// ErrFull: the table holds as many rows as it may and this one is new.
	ErrFull = errors.New("row table is full")
	// ErrEntries: the row has as many replicas as it may and this one is new.
	ErrEntries = errors.New("row has too many replicas")
)

// slotsInChunk is how many slots are allocated at once: a table grows without
// copying what it holds.
const slotsInChunk = 4096

// Table holds rows by ID. It takes about 130 bytes a row of three entries, key
// of 31 bytes included (BenchmarkTableMemory). It belongs to one goroutine at a
// time.
type Table struct {
	maxRows  int
	index    index
	chunks   [][]slot
	free     []uint32
	periods  interner[period]
	replicas interner[Replica]
	// regions numbers those that gifts go to: few, and kept for good.
	regions     []string
	generations generations
	sweep       uint32 // the next slot DropEnded looks at
	scratch     []byte
	given       []byte // room for gifts

	// Digests, by span and by number of period; hashes by number of replica and
	// region.
	spans         map[Span]*digests
	digests       []*digests
	replicaHashes []uint64
	regionHashes  []uint64
}

// slot is one row: its key and its packed entries in one allocation.
type slot struct {
	id     RowID
	data   []byte // nil: the slot is free
	period uint32
	keyLen uint16
}

func (s *slot) entries() packed { return packed(s.data[s.keyLen:]) }

// NewTable returns an empty table for at most maxRows rows.
func NewTable(maxRows int) *Table {
	return &Table{
		maxRows:     maxRows,
		index:       newIndex(),
		spans:       make(map[Span]*digests),
		generations: make(generations),
		periods:     newInterner[period](),
		replicas:    newInterner[Replica](),
	}
}

// Len is how many rows the table holds.
func (t *Table) Len() int { return t.index.len }

// Has says whether the table holds the row.
func (t *Table) Has(id RowID) bool {
	_, ok := t.find(id)
	return ok
}

// HasRoom says whether the row may be merged into: the table holds it, or may
// hold one more.
func (t *Table) HasRoom(id RowID) bool { return t.Len() < t.maxRows || t.Has(id) }

// Merge merges what one replica counted into the row, which it makes if there
// is none, and says whether anything was new. id is name.ID(); name and e are
// valid. ErrFull or ErrEntries: nothing changed.
func (t *Table) Merge(id RowID, name RowName, e Entry) (bool, error) {
	place, ok := t.find(id)
	if !ok {
		return t.insert(id, name, e)
	}
	return t.mergeInto(t.slot(place), e)
}

// MergeKnown is Merge into a row that the table holds; known says whether it
// does.
func (t *Table) MergeKnown(id RowID, e Entry) (changed, known bool, err error) {
	place, known := t.find(id)
	if !known {
		return false, false, nil
	}
	changed, err = t.mergeInto(t.slot(place), e)
	return changed, true, err
}

func (t *Table) mergeInto(s *slot, e Entry) (bool, error) {
	if replica, known := t.replicas.number(e.Replica); known {
		if have, found := s.entries().find(replica); found {
			return t.update(s, have, e), nil
		}
	}
	return t.extend(s, e)
}

func (t *Table) insert(id RowID, name RowName, e Entry) (bool, error) {
	if t.Len() >= t.maxRows {
		return false, ErrFull
	}
	n := t.take()
	s := t.slot(n)
	s.id = id
	s.period = t.acquirePeriod(name)
	s.keyLen = uint16(len(name.Key))
	t.scratch = append(t.scratch[:0], name.Key...)
	t.scratch = appendPacked(t.scratch, t.acquireReplica(e.Replica), e, t.region)
	s.data = splice(nil, 0, 0, t.scratch)
	t.addToIndex(id, n)
	t.flip(s, t.hashAt(s, int(s.keyLen)))
	t.generations.add(name)
	return true, nil
}

// update merges e into the entry its replica has in the row.
func (t *Table) update(s *slot, have packedEntry, e Entry) bool {
	old := t.unpack(have, e.Gifts)
	joined := old.join(e)
	if joined == old {
		return false
	}
	t.scratch = appendPacked(t.scratch[:0], have.replica, joined, t.region)
	key := int(s.keyLen)
	was := t.digestPacked(hashID(s.id), &have)
	s.data = splice(s.data, key+have.from, key+have.to, t.scratch)
	t.flip(s, was^t.hashAt(s, key+have.from))
	return true
}

// extend adds a replica the row has not had.
func (t *Table) extend(s *slot, e Entry) (bool, error) {
	if t.count(s) >= MaxEntries {
		return false, ErrEntries
	}
	t.scratch = appendPacked(t.scratch[:0], t.acquireReplica(e.Replica), e, t.region)
	end := len(s.data)
	s.data = splice(s.data, end, end, t.scratch)
	t.flip(s, t.hashAt(s, end))
	return true, nil
}

// hashAt is the hash of the entry that lies there.
func (t *Table) hashAt(s *slot, at int) uint64 {
	e, _ := s.entries().next(at - int(s.keyLen))
	return t.digestPacked(hashID(s.id), &e)
}

// flip puts a hash into the digests that the row counts in, or takes it out.
func (t *Table) flip(s *slot, hash uint64) { t.digests[s.period].flip(&s.id, hash) }

func (t *Table) acquirePeriod(name RowName) uint32 {
	n := t.periods.acquire(period{name.Rule, name.Start, name.End, name.Generation}, ownPeriod)
	span := Span{name.Start, name.End}
	d := t.spans[span]
	if d == nil {
		d = &digests{}
		t.spans[span] = d
	}
	d.rows++
	for len(t.digests) <= int(n) {
		t.digests = append(t.digests, nil)
	}
	t.digests[n] = d
	return n
}

func (t *Table) releasePeriod(n uint32) {
	p, d := t.periods.value(n), t.digests[n]
	if d.rows--; d.rows == 0 {
		delete(t.spans, Span{p.start, p.end})
	}
	t.periods.release(n)
}

func (t *Table) acquireReplica(r Replica) uint32 {
	n := t.replicas.acquire(r, ownReplica)
	for len(t.replicaHashes) <= int(n) {
		t.replicaHashes = append(t.replicaHashes, 0)
	}
	t.replicaHashes[n] = hashReplica(r)
	return n
}

func (t *Table) count(s *slot) int {
	// No entry is shorter than 5 bytes: most rows need no counting.
	if len(s.entries()) < 5*MaxEntries {
		return 0
	}
	n := 0
	for e, ok := s.entries().next(0); ok; e, ok = s.entries().next(e.to) {
		n++
	}
	return n
}

// Row copies a row into dst, whose room it reuses, and says whether there is
// one.
func (t *Table) Row(id RowID, dst *Row) bool {
	n, ok := t.find(id)
	if !ok {
		return false
	}
	return t.At(n, dst)
}

// Entry returns what one replica counted in a row.
func (t *Table) Entry(id RowID, replica Replica) (Entry, bool) {
	n, ok := t.find(id)
	if !ok {
		return Entry{}, false
	}
	number, known := t.replicas.number(replica)
	if !known {
		return Entry{}, false
	}
	have, found := t.slot(n).entries().find(number)
	if !found {
		return Entry{}, false
	}
	return t.unpack(have, ""), true
}

// Slots is how many places rows may lie at: At takes 0 to Slots−1.
func (t *Table) Slots() uint32 { return uint32(len(t.chunks) * slotsInChunk) }

// At copies the row at a place into dst, whose room it reuses, and says
// whether there is one. A row keeps its place for as long as it lives, so a
// walk over all places meets every row that lives throughout.
func (t *Table) At(place uint32, dst *Row) bool {
	s := t.slot(place)
	if s.data == nil {
		return false
	}
	dst.name = t.nameInto(s, dst.name.Key)
	dst.entries = dst.entries[:0]
	for e, ok := s.entries().next(0); ok; e, ok = s.entries().next(e.to) {
		var had Gifts
		if len(e.gifts) > 0 {
			had = dst.hadGifts(t.replicas.value(e.replica))
		}
		dst.entries = append(dst.entries, t.unpack(e, had))
	}
	slices.SortFunc(dst.entries, func(a, b Entry) int { return a.Replica.Compare(b.Replica) })
	return true
}

// HasEnded says whether the period of any row ended at or before the given Unix
// second. It looks at the periods in use, which are few.
func (t *Table) HasEnded(before int64) bool {
	for _, p := range t.periods.values {
		if p.users > 0 && p.value.end <= before {
			return true
		}
	}
	return false
}

// DropEnded drops whole rows whose period ended at or before the given Unix
// second. It looks at no more than budget places, going on where it last
// stopped, so that a full table is swept without a pause; it returns how many
// rows it dropped, and told gone of each.
func (t *Table) DropEnded(before int64, budget int, gone func(RowID)) int {
	dropped := 0
	for range min(budget, int(t.Slots())) {
		place := t.sweep
		t.sweep = (t.sweep + 1) % t.Slots()
		if s := t.slot(place); s.data != nil && t.periods.value(s.period).end <= before {
			gone(t.drop(place, s))
			dropped++
		}
	}
	return dropped
}

func (t *Table) drop(place uint32, s *slot) RowID {
	id := s.id
	t.dropFromIndex(id)
	t.generations.drop(t.nameInto(s, ""))
	row, d := hashID(id), t.digests[s.period]
	for e, ok := s.entries().next(0); ok; e, ok = s.entries().next(e.to) {
		d.flip(&id, t.digestPacked(row, &e))
		t.replicas.release(e.replica)
	}
	t.releasePeriod(s.period)
	*s = slot{}
	t.free = append(t.free, place)
	return id
}

// nameInto returns the row's name, with the key the caller has if it is equal:
// whoever reads one hot row again and again allocates nothing.
func (t *Table) nameInto(s *slot, key string) RowName {
	if key != string(s.data[:s.keyLen]) {
		key = string(s.data[:s.keyLen])
	}
	p := t.periods.value(s.period)
	return RowName{Rule: p.rule, Key: key, Start: p.start, End: p.end, Generation: p.generation}
}

// unpack reads an entry. had is what it may have given, see gifts.
func (t *Table) unpack(e packedEntry, had Gifts) Entry {
	return Entry{Replica: t.replicas.value(e.replica), Version: e.version, Taken: e.taken, Returned: e.returned,
		Granted: e.granted, Unmet: e.unmet, Gifts: t.gifts(e.gifts, had)}
}

// gifts reads what an entry gave, and returns what the caller has if that is
// equal: whoever reads one hot row again and again allocates nothing. Packed
// gifts are in order of region, as a Gifts is.
func (t *Table) gifts(p packed, had Gifts) Gifts {
	t.given = t.given[:0]
	for region, units, at, ok := p.pair(0); ok; region, units, at, ok = p.pair(at) {
		t.given = appendGift(t.given, t.regions[region], units)
	}
	if string(had) != string(t.given) {
		return Gifts(t.given)
	}
	return had
}

// region numbers a region that gifts go to.
func (t *Table) region(name string) uint32 {
	i := slices.Index(t.regions, name)
	if i < 0 {
		i = len(t.regions)
		t.regions = append(t.regions, strings.Clone(name))
		t.regionHashes = append(t.regionHashes, hashText(name))
	}
	return uint32(i)
}

func (t *Table) slot(place uint32) *slot {
	return &t.chunks[place/slotsInChunk][place%slotsInChunk]
}

// take returns a free place.
func (t *Table) take() uint32 {
	if len(t.free) == 0 {
		t.grow()
	}
	last := len(t.free) - 1
	place := t.free[last]
	t.free = t.free[:last]
	return place
}

// grow adds a chunk; its lowest places are taken first.
func (t *Table) grow() {
	first := t.Slots()
	t.chunks = append(t.chunks, make([]slot, slotsInChunk))
	for place := t.Slots(); place > first; place-- {
		t.free = append(t.free, place-1)
	}
}
