package embedded

import (
	"weir/limiter/quota"
	"weir/limiter/store"
)

// row is a quota row: what this reign counted, and earlier ones.
type row struct {
	name    store.RowName
	own     quota.Count
	earlier []store.Entry
}

// merge takes in what earlier replicas counted.
func (r *row) merge(entries []store.Entry, own store.Reign) {
	for _, e := range entries {
		if e.Reign != own {
			r.mergeOne(e)
		}
	}
}

func (r *row) mergeOne(e store.Entry) {
	for i := range r.earlier {
		if have := &r.earlier[i]; have.Reign == e.Reign {
			*have = entry(e.Reign, count(*have).Merge(count(e)))
			return
		}
	}
	r.earlier = append(r.earlier, e)
}

// net is what the region took, less what it gave back.
func (r *row) net() int64 {
	sum := r.own.Net()
	for i := range r.earlier {
		sum += r.earlier[i].Taken - r.earlier[i].Returned
	}
	return sum
}

// isEmpty says whether nothing was ever counted here.
func (r *row) isEmpty() bool { return r.own.Version == 0 && len(r.earlier) == 0 }

// entries lists what the row holds, in a list of its own.
func (r *row) entries(own store.Reign) []store.Entry {
	list := make([]store.Entry, 0, 1+len(r.earlier))
	if r.own.Version > 0 {
		list = append(list, entry(own, r.own))
	}
	return append(list, r.earlier...)
}

func count(e store.Entry) quota.Count {
	return quota.Count{Version: e.Version, Taken: e.Taken, Returned: e.Returned}
}

func entry(reign store.Reign, c quota.Count) store.Entry {
	return store.Entry{Reign: reign, Version: c.Version, Taken: c.Taken, Returned: c.Returned}
}
