// Package quotas shows the node's quota rows as the API speaks of them.
package quotas

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/crdt"
	"weir/limiter/rule"
	weirv1 "weir/proto/weir/v1"
	"weir/region/api"
)

// Rows is where the rows are; *gossip.Mesh has them.
type Rows interface {
	// View calls f with the row, if it is known, under a lock: f copies what it
	// needs and returns.
	View(id crdt.RowID, f func(*crdt.Row)) bool
	// Each calls f with every row in turn, as View does.
	Each(f func(*crdt.Row))
	// Changes grows whenever a row changed.
	Changes() uint64
}

// Reader implements api.Quotas.
type Reader struct {
	rows    Rows
	rules   func() *rule.Set
	regions []string
	now     func() time.Time
}

// NewReader returns a reader of the rows under the rules in force. Quotas list
// the regions in the order given.
func NewReader(rows Rows, rules func() *rule.Set, regions []string, now func() time.Time) *Reader {
	return &Reader{rows: rows, rules: rules, regions: regions, now: now}
}

// Changes implements api.Quotas.
func (r *Reader) Changes() uint64 { return r.rows.Changes() }

// Get implements api.Quotas.
func (r *Reader) Get(name, key string) (*weirv1.Quota, bool) {
	quota := quotaOf(r.rules(), name)
	if quota == nil {
		return nil, false
	}
	start, end := quota.Period(r.now())
	row := crdt.RowName{Rule: name, Key: key, Start: start, End: end}
	out := r.quota(crdt.NewRow(row), quota.Limit)
	r.rows.View(row.ID(), func(known *crdt.Row) { out = r.quota(known, quota.Limit) })
	return out, true
}

func quotaOf(set *rule.Set, name string) *rule.Quota {
	for i := range set.Rules {
		if set.Rules[i].Name != name {
			continue
		}
		for _, l := range set.Rules[i].Limits {
			if l.Quota != nil {
				return l.Quota
			}
		}
	}
	return nil
}

func (r *Reader) quota(row *crdt.Row, limit int64) *weirv1.Quota {
	name := row.Name()
	used := row.Value()
	out := &weirv1.Quota{
		Rule: name.Rule, Key: name.Key, Limit: limit, Used: used, Remaining: max(0, limit-used),
		PeriodStartUnixSeconds: name.Start, PeriodEndUnixSeconds: name.End,
		ByRegion: make([]*weirv1.RegionUse, len(r.regions)),
	}
	for i, region := range r.regions {
		taken, returned := row.Region(region)
		out.ByRegion[i] = &weirv1.RegionUse{Region: region, Taken: taken, GivenBack: returned}
	}
	return out
}

// candidate is a row that the filters accept, with what orders it.
type candidate struct {
	id        crdt.RowID
	rule, key string
	limit     int64
	share     float64 // used/limit; 0 unless ordered by it
}

// List implements api.Quotas. It looks at every row of the current periods; a
// page costs time in proportion to their number.
func (r *Reader) List(in *weirv1.ListQuotasRequest) (api.Page, error) {
	after, err := parseToken(in.PageToken)
	if err != nil {
		return api.Page{}, err
	}
	found := r.candidates(in)
	slices.SortFunc(found, compare)
	page := api.Page{Total: int64(len(found))}
	from := min(after, len(found))
	to := min(from+int(in.PageSize), len(found))
	for _, c := range found[from:to] {
		r.rows.View(c.id, func(row *crdt.Row) { page.Quotas = append(page.Quotas, r.quota(row, c.limit)) })
	}
	if to < len(found) {
		page.Next = strconv.Itoa(to)
	}
	return page, nil
}

func (r *Reader) candidates(in *weirv1.ListQuotasRequest) (found []candidate) {
	set, now := r.rules(), r.now().Unix()
	limits := make(map[string]int64)
	for i := range set.Rules {
		for _, l := range set.Rules[i].Limits {
			if l.Quota != nil {
				limits[set.Rules[i].Name] = l.Quota.Limit
			}
		}
	}
	r.rows.Each(func(row *crdt.Row) {
		name := row.Name()
		if now < name.Start || now >= name.End || !matches(in, name) {
			return
		}
		c := candidate{id: name.ID(), rule: name.Rule, key: name.Key, limit: limits[name.Rule]}
		if in.Order == weirv1.QuotaOrder_QUOTA_ORDER_USED {
			c.share = float64(row.Value()) / float64(max(1, c.limit))
		}
		found = append(found, c)
	})
	return found
}

func matches(in *weirv1.ListQuotasRequest, name crdt.RowName) bool {
	if in.Rule != "" && in.Rule != name.Rule {
		return false
	}
	return in.Search == "" || strings.Contains(name.Key, in.Search) || strings.Contains(name.Rule, in.Search)
}

func compare(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.rule, b.rule), cmp.Compare(a.key, b.key))
}

// A page token is the place in the order where the page begins: rows that move
// between two pages may be seen twice or not at all, as everywhere that pages
// over moving numbers.

func parseToken(token string) (int, error) {
	if token == "" {
		return 0, nil
	}
	at, err := strconv.Atoi(token)
	if err != nil || at < 0 {
		return 0, errors.New("page_token: not one that a page ended with; leave it empty for the first page")
	}
	return at, nil
}
