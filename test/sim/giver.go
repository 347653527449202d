package sim

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"weir/crdt"
	"weir/limiter/store"
	"weir/region/giving"
)

// giverPatience is how long a node may be silent until another gives in its
// stead.
const giverPatience = 1500 * time.Millisecond

const reservePercent = giving.DefaultReservePercent

// giver gives of its region's rights to regions that need them, as the policy
// says: it looks at the rows that changed, once a tick.
type giver struct {
	policy  giving.Policy
	view    giving.View
	changed []crdt.RowID // each once
}

func newGiver() giver {
	p, err := giving.NewHalfSurplus(reservePercent, 100)
	if err != nil {
		panic(err)
	}
	return giver{policy: p}
}

// note notes that a row changed.
func (g *giver) note(id crdt.RowID) {
	if !slices.Contains(g.changed, id) {
		g.changed = append(g.changed, id)
	}
}

// look looks at the rows that changed. What cannot be given now is looked at
// again when the row changes.
func (g *giver) look(n *node) {
	changed := slices.Clone(g.changed)
	g.changed = g.changed[:0]
	if n.reign == 0 || len(changed) == 0 {
		return
	}
	g.readRegions(n)
	for _, id := range changed {
		if n.givesOf(id) && n.core.Row(id, &n.row) {
			g.giveOf(n, n.w.rule(n.row.Name()), &n.row)
		}
	}
}

// readRegions notes the regions, in order of name, and how they are in touch.
func (g *giver) readRegions(n *node) {
	v := &g.view
	v.Regions = v.Regions[:0]
	for _, h := range n.core.Heard(n.now()) {
		v.Regions = append(v.Regions, giving.Region{Name: h.Region, Age: h.Age, Known: h.Known})
	}
	slices.SortFunc(v.Regions, func(a, b giving.Region) int { return strings.Compare(a.Name, b.Name) })
	v.Own = slices.IndexFunc(v.Regions, func(r giving.Region) bool { return r.Name == n.region.name })
}

// giveOf has the store deduct and write down a gift, if one is to be made.
func (g *giver) giveOf(n *node, r *quotaRule, row *crdt.Row) {
	name := row.Name()
	for i := range g.view.Regions {
		g.view.Regions[i].Share = n.ledger.Share(g.view.Regions[i].Name, name.Start, r.total)
	}
	g.view.Read(row, r.limit)
	gift, ok := g.policy.Gift(n.now(), &g.view)
	if !ok {
		return
	}
	q := store.QuotaRow{Row: storeName(name), Limit: r.limit, Total: r.total, Reign: store.Reign(n.reign)}
	if !n.ledger.View(&q) || rowNameOf(&q) != name {
		return
	}
	n.change(&store.Change{QuotaRow: q, Kind: store.Give, To: gift.To, Units: gift.Target, Keep: gift.Keep}, "give", nil)
}

// givesOf says whether this node gives of a row: of the region's nodes that it
// knows of, the one with the highest score.
func (n *node) givesOf(id crdt.RowID) bool {
	for _, m := range n.region.nodes {
		if m != n && n.up[m.name] && n.core.Silence(n.now(), m.name) < giverPatience && score(id, m.name) > score(id, n.name) {
			return false
		}
	}
	return true
}

func score(id crdt.RowID, node string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(node)) // a hash does not fail
	x := h.Sum64() ^ binary.LittleEndian.Uint64(id[:])
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

func (w *world) regionIndex(name string) int {
	for i, r := range w.regions {
		if r.name == name {
			return i
		}
	}
	panic("no region " + name)
}
