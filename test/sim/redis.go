package sim

import (
	"slices"
	"time"

	"weir/crdt"
	"weir/limiter/quota"
	"weir/limiter/store"
)

// requestLife is how long a request id is kept.
const requestLife = 60 * time.Second

// redis is one server of a region's store: what the scripts keep in it, around
// the real rows.
type redis struct {
	w      *world
	region *region
	run    uint64 // new with each start of the server
	marker marker
	rows   map[crdt.RowID]*redisRow
	order  []crdt.RowID // of rows, as they came
	// requests are those of the last minute: what each charged, or that it was
	// cancelled.
	requests map[quota.RequestID]request
	skew     time.Duration

	down bool          // it answers nobody
	slow time.Duration // how long it takes to answer
}

// marker stands beside the data: the reign it is in, or the claim of a node that
// opens one, and the run of the server that this was written under.
type marker struct {
	nonce, claim, run uint64
	acked             int64 // see splitView
}

type request struct {
	units     int64 // 0: cancelled
	row       crdt.RowID
	until     time.Duration
	cancelled bool
}

// redisRow is a row and the reign whose replica its own entry is.
type redisRow struct {
	name  crdt.RowName
	id    crdt.RowID
	reign uint64
	row   *quota.Row
	// told is for the checkers: the newest that the store was told of its region's
	// other replicas, whatever it made of it.
	told []crdt.Entry
	// unpaid is the law-breaker's: gifts that are not deducted yet. floor, too: a
	// single number for all earlier replicas.
	unpaid, floor int64
}

func newRedis(w *world, r *region) *redis {
	s := &redis{w: w, region: r, run: w.nonce(), skew: w.between(-2*time.Second, 2*time.Second)}
	s.empty()
	return s
}

// empty loses everything.
func (s *redis) empty() {
	s.marker = marker{}
	s.rows, s.order = map[crdt.RowID]*redisRow{}, nil
	s.requests = map[quota.RequestID]request{}
}

// copy is what a replica of the server holds at this instant.
func (s *redis) copy() *redis {
	out := *s
	out.rows, out.order = map[crdt.RowID]*redisRow{}, nil
	for _, id := range s.order {
		r := *s.rows[id]
		r.row, r.told = r.row.Clone(), slices.Clone(r.told)
		out.rows[id], out.order = &r, append(out.order, id)
	}
	out.requests = map[quota.RequestID]request{}
	for id, r := range s.requests {
		out.requests[id] = r
	}
	return &out
}

// become makes the server hold what a copy holds, under a new run.
func (s *redis) become(copied *redis) {
	fresh := copied.copy()
	s.marker, s.rows, s.order, s.requests = fresh.marker, fresh.rows, fresh.order, fresh.requests
	s.run = s.w.nonce()
}

func (s *redis) nowUs() int64 {
	return baseUnix*1_000_000 + (s.w.now + s.skew).Microseconds()
}

func (s *redis) unix() int64 { return s.nowUs() / 1_000_000 }

// rules says whether the data is in a reign.
func (s *redis) rules() bool { return s.marker.nonce != 0 && s.marker.run == s.run }

// in says whether the data is in the reign that a caller names.
func (s *redis) in(reign uint64) bool { return s.rules() && s.marker.nonce == reign }

// touch returns a row in the present reign. What an earlier reign counted in it
// is an earlier replica's from now on, its leases and receipts are void.
func (s *redis) touch(q *store.QuotaRow) *redisRow {
	id := crdt.RowID(q.ID)
	r := s.rows[id]
	if r == nil {
		r = &redisRow{name: rowNameOf(q), id: id, reign: s.marker.nonce, row: &quota.Row{}}
		s.rows[id] = r
		s.order = append(s.order, id)
	}
	if r.reign != s.marker.nonce {
		own, reign := r.row.Own, r.reign
		r.row, r.reign = &quota.Row{Earlier: r.row.Earlier}, s.marker.nonce
		if own.Version > 0 {
			s.merge(r, reign, own)
		}
		if s.w.mutant.ScalarFloor {
			r.floor += spentBy(own)
		}
	}
	told := int64(0)
	for _, e := range q.Earlier {
		if uint64(e.Reign) != s.marker.nonce {
			s.merge(r, uint64(e.Reign), e.Count)
			told += spentBy(e.Count)
		}
	}
	if s.w.mutant.ScalarFloor {
		r.floor = max(r.floor, told)
	}
	return r
}

func (s *redis) merge(r *redisRow, nonce uint64, c quota.Count) {
	r.hear(entryOf(s.region.name, nonce, c))
	if !s.w.mutant.ShareEach && !s.w.mutant.ScalarFloor {
		r.row.Merge(nonce, c)
	}
}

func (r *redisRow) hear(e crdt.Entry) {
	for i := range r.told {
		if r.told[i].Replica == e.Replica {
			r.told[i] = newest(r.told[i], e)
			return
		}
	}
	r.told = append(r.told, e)
}

// spentBy is what a replica used of its region's rights.
func spentBy(c quota.Count) int64 { return c.Net() + c.Gifts.Total() - c.Granted }

// bounds are those that a caller brings.
func (r *redisRow) bounds(q *store.QuotaRow) quota.Bounds {
	b := q.Bounds()
	b.Allotted += r.unpaid - r.floor
	return b
}

// answer is what a reply says of a row.
func (s *redis) answer(q *store.QuotaRow, r *redisRow) {
	q.Entry = store.Entry{Reign: store.Reign(r.reign), Count: r.row.Own}
	sums := r.row.Sums()
	q.RegionNet, q.RegionRights = sums.Net, sums.Rights(r.bounds(q))
}

// entry is the present reign's entry as it travels.
func (s *redis) entry(r *redisRow) crdt.Entry { return entryOf(s.region.name, r.reign, r.row.Own) }

// entries are all of a row's, in order of reign where the row has it.
func (s *redis) entries(r *redisRow) []crdt.Entry {
	out := make([]crdt.Entry, 0, 1+len(r.row.Earlier))
	if r.row.Own.Version > 0 {
		out = append(out, s.entry(r))
	}
	for i := range r.row.Earlier {
		e := &r.row.Earlier[i]
		out = append(out, entryOf(s.region.name, e.Nonce, e.Count))
	}
	return out
}

// list is what the store holds, as Rows yields it; rows that ended are dropped.
func (s *redis) list() (rows []store.Row) {
	for _, id := range s.order {
		r := s.rows[id]
		if s.nowUs() >= r.name.End*1_000_000+store.RowGrace.Microseconds() {
			continue
		}
		row := store.Row{Name: storeName(r.name)}
		for _, e := range s.entries(r) {
			row.Entries = append(row.Entries, store.Entry{Reign: store.Reign(e.Replica.Nonce), Count: countOf(e)})
		}
		rows = append(rows, row)
	}
	return rows
}

func entryOf(region string, nonce uint64, c quota.Count) crdt.Entry {
	return crdt.Entry{Replica: crdt.Replica{Region: region, Nonce: nonce}, Version: c.Version,
		Taken: c.Taken, Returned: c.Returned, Granted: c.Granted, Unmet: c.Unmet, Gifts: c.Gifts}
}

func countOf(e crdt.Entry) quota.Count {
	return quota.Count{Version: e.Version, Taken: e.Taken, Returned: e.Returned,
		Granted: e.Granted, Unmet: e.Unmet, Gifts: e.Gifts}
}

func rowNameOf(q *store.QuotaRow) crdt.RowName {
	return crdt.RowName{Rule: q.Row.Rule, Key: q.Row.Key, Start: q.Row.Start, End: q.Row.End, Generation: q.Row.Generation}
}

func storeName(n crdt.RowName) store.RowName {
	return store.RowName{Rule: n.Rule, Key: n.Key, Start: n.Start, End: n.End, Generation: n.Generation}
}
