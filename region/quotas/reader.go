// Package quotas shows the node's quota rows as the API speaks of them.
package quotas

import (
	"time"

	"weir/crdt"
	"weir/limiter/rule"
	weirv1 "weir/proto/weir/v1"
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
	pages   pages
}

// NewReader returns a reader of the rows under the rules in force. Quotas list
// the regions in the order given.
func NewReader(rows Rows, rules func() *rule.Set, regions []string, now func() time.Time) *Reader {
	return &Reader{rows: rows, rules: rules, regions: regions, now: now, pages: newPages()}
}

// Changes implements api.Quotas.
func (r *Reader) Changes() uint64 { return r.rows.Changes() }

// Get implements api.Quotas.
func (r *Reader) Get(name, key string) (*weirv1.Quota, bool) {
	quota := quotaOf(r.rules().Rule(name))
	if quota == nil {
		return nil, false
	}
	start, end := quota.Period(r.now())
	row := crdt.RowName{Rule: name, Key: key, Start: start, End: end}
	out := r.quota(crdt.NewRow(row), quota.Limit)
	// A long key may be given as it is counted and listed, or whole.
	for _, row.Key = range []string{key, rule.ShortKey(key)} {
		if r.rows.View(row.ID(), func(known *crdt.Row) { out = r.quota(known, quota.Limit) }) {
			break
		}
	}
	return out, true
}

// quotaOf returns the rule's quota, nil when it has none or is nil.
func quotaOf(of *rule.Rule) *rule.Quota {
	if of == nil {
		return nil
	}
	for _, l := range of.Limits {
		if l.Quota != nil {
			return l.Quota
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
