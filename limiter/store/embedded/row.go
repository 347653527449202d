package embedded

import (
	"weir/limiter/quota"
	"weir/limiter/store"
)

// row is a quota row and its name.
type row struct {
	name store.RowName
	quota.Row
}

// merge takes in what earlier replicas counted.
func (r *row) merge(entries []store.Entry, own store.Reign) {
	for i := range entries {
		if entries[i].Reign != own {
			r.Merge(uint64(entries[i].Reign), entries[i].Count)
		}
	}
}

// entries lists what the row holds, in a list of its own.
func (r *row) entries(own store.Reign) []store.Entry {
	list := make([]store.Entry, 0, 1+len(r.Earlier))
	if r.Own.Version > 0 {
		list = append(list, store.Entry{Reign: own, Count: r.Own})
	}
	for i := range r.Earlier {
		list = append(list, store.Entry{Reign: store.Reign(r.Earlier[i].Nonce), Count: r.Earlier[i].Count})
	}
	return list
}

// answer writes how a row stands into what asked.
func (s *Store) answer(q *store.QuotaRow, r *row) {
	sums := r.Sums()
	q.Entry = store.Entry{Reign: s.reign, Count: r.Own}
	q.RegionNet, q.RegionRights = sums.Net, sums.Rights(q.Bounds())
}
