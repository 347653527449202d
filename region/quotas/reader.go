// Package quotas shows the node's quota rows as the API speaks of them: what each
// region took, what it may still take, and by how much that can be too much.
package quotas

import (
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
	// Generation is the newest generation known of the row that has this ID in
	// generation 0.
	Generation(first crdt.RowID) uint32
	// Changes grows whenever a row changed.
	Changes() uint64
}

// Shares says how rights are shared out; *ledger.Ledger does.
type Shares interface {
	// Share is what a region may use of total units in a period that begins at a
	// Unix second, without gifts.
	Share(region string, start, total int64) int64
}

// Config is what a reader is made from. All fields are needed.
type Config struct {
	Rows   Rows
	Rules  func() *rule.Set // those in force
	Shares Shares
	// Regions are those that quotas list, in this order; States say how they
	// stand, in the same.
	Regions []string
	States  api.Regions
	Now     func() time.Time
}

// Reader implements api.Quotas.
type Reader struct {
	rows    Rows
	rules   func() *rule.Set
	shares  Shares
	regions []string
	states  api.Regions
	now     func() time.Time
	pages   pages
	resets  resets
}

// NewReader returns a reader. It owns nothing it is given.
func NewReader(c Config) *Reader {
	return &Reader{rows: c.Rows, rules: c.Rules, shares: c.Shares, regions: c.Regions, states: c.States, now: c.Now, pages: newPages()}
}

// Changes implements api.Quotas.
func (r *Reader) Changes() uint64 { return r.rows.Changes() }

// Get implements api.Quotas.
func (r *Reader) Get(name, key string) (*weirv1.Quota, bool) {
	of := r.rules().Rule(name).Quota()
	if of == nil {
		return nil, false
	}
	row := crdt.RowName{Rule: name, Key: key}
	row.Start, row.End = of.Period(r.now())
	shown := crdt.NewRow(row)
	// A long key may be given as it is counted and listed, or whole.
	for _, row.Key = range []string{key, rule.ShortKey(key)} {
		row.Generation = 0
		row.Generation = r.rows.Generation(row.ID())
		if known := r.copy(row.ID()); known != nil {
			shown = known
			break
		}
	}
	return r.show(shown, of), true
}

// copy returns a row of its own, nil if it is not known: what is made of it is
// made without the lock that every check takes.
func (r *Reader) copy(id crdt.RowID) (out *crdt.Row) {
	r.rows.View(id, func(row *crdt.Row) {
		out = crdt.NewRow(row.Name())
		for _, e := range row.Entries() {
			out.Merge(e)
		}
	})
	return out
}
