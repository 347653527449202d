package region

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"weir/crdt"
	"weir/gossip"
	"weir/limiter"
	"weir/limiter/rule"
	"weir/limiter/store"
	"weir/region/giving"
	"weir/region/ledger"
)

const (
	// giveInterval is how often the rows that changed are looked at.
	giveInterval = 100 * time.Millisecond
	// giveRows bounds the rows looked at each time, giveChanges the gifts.
	giveRows    = 10_000
	giveChanges = 256
	// giverPatience is how long a node may be silent until another gives in its
	// stead: the membership protocol takes seconds to miss it.
	giverPatience = 1500 * time.Millisecond
)

// giver gives of this region's rights to regions that need them. What it gives
// is the policy's to say; that nothing is given twice or without having been
// deducted is the store's, and that nobody hears of a gift before a disk holds
// it is the mesh's.
type giver struct {
	node, region string
	mesh         *gossip.Mesh
	ledger       *ledger.Ledger
	store        store.Store
	rules        func() *rule.Set
	policy       giving.Policy
	clock        func() time.Duration
	log          *slog.Logger
	// able says whether gifts can be made durable now.
	able func() bool

	ids  []crdt.RowID
	view giving.View

	gifts, units, failures atomic.Uint64
}

// run gives until the context ends.
func (g *giver) run(ctx context.Context) {
	tick := time.NewTicker(giveInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			g.look(ctx)
		}
	}
}

// look looks at the rows that changed. What cannot be given now, for want of a
// disk or a store, is looked at again when the row changes: a region in need
// says so every half second.
func (g *giver) look(ctx context.Context) {
	g.ids = g.mesh.TakeChanged(g.ids[:0], giveRows)
	if len(g.ids) == 0 || !g.able() {
		return
	}
	own := g.givers()
	g.lookRound()
	var changes []*store.Change
	for _, id := range g.ids {
		if !g.gives(id, own) {
			continue
		}
		changes = g.giftOf(id, changes)
		if len(changes) >= giveChanges {
			g.apply(ctx, changes)
			changes = changes[:0]
		}
	}
	g.apply(ctx, changes)
}

// givers are the nodes of this region that can give.
func (g *giver) givers() (names []string) {
	for _, m := range g.mesh.Members() {
		if m.Region == g.region && !m.Diskless && m.Silence < giverPatience {
			names = append(names, m.Name)
		}
	}
	return names
}

// gives says whether this node gives of a row: of the region's nodes the one
// with the highest score (rendezvous hashing, Thaler and Ravishankar 1998). Two
// that disagree on who is a member both give, which does no harm.
func (g *giver) gives(id crdt.RowID, own []string) bool {
	mine := score(id, g.node)
	for _, name := range own {
		if name != g.node && score(id, name) > mine {
			return false
		}
	}
	return true
}

func score(id crdt.RowID, node string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(node)) // a hash does not fail
	return mix(h.Sum64() ^ binary.LittleEndian.Uint64(id[:]))
}

// mix spreads what FNV leaves close together (the finalizer of MurmurHash3).
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// giftOf appends the gift of one row to changes, if one is to be made.
func (g *giver) giftOf(id crdt.RowID, changes []*store.Change) []*store.Change {
	var q store.QuotaRow
	var r *rule.Rule
	g.mesh.View(id, func(row *crdt.Row) {
		name := row.Name()
		r = g.rules().Rule(name.Rule)
		limits := r.Quota()
		if limits == nil || limits.Overshoot.Unbounded {
			r = nil
			return
		}
		q = store.QuotaRow{Limit: limits.Limit, Total: limiter.Rights(limits),
			Row: store.RowName{Rule: name.Rule, Key: name.Key, Start: name.Start, End: name.End, Generation: name.Generation}}
		for i := range g.view.Regions {
			g.view.Regions[i].Share = g.ledger.Share(g.view.Regions[i].Name, name.Start, q.Total)
		}
		g.view.Read(row, q.Limit)
	})
	if r == nil {
		return changes
	}
	gift, ok := g.policy.Gift(g.clock(), &g.view)
	if !ok {
		return changes
	}
	generation := q.Row.Generation
	q.Tag = limiter.Tag(r, q.Row.Key)
	q.Reign = g.store.Reign(q.Tag)
	c := &store.Change{QuotaRow: q, Kind: store.Give, To: gift.To, Units: gift.Target, Keep: gift.Keep}
	if g.ledger.View(&c.QuotaRow) && c.Row.Generation == generation {
		changes = append(changes, c)
	}
	return changes
}

// lookRound notes the regions, in order of name, and how they are in touch.
func (g *giver) lookRound() {
	v := &g.view
	v.Regions = v.Regions[:0]
	for _, h := range g.mesh.Heard() {
		v.Regions = append(v.Regions, giving.Region{Name: h.Region, Age: h.Age, Known: h.Known})
	}
	slices.SortFunc(v.Regions, func(a, b giving.Region) int { return strings.Compare(a.Name, b.Name) })
	v.Own = slices.IndexFunc(v.Regions, func(r giving.Region) bool { return r.Name == g.region })
}

// apply has the store make the gifts and takes in what it says. The disk holds
// them before another node hears of them, and is told of them at once.
func (g *giver) apply(ctx context.Context, changes []*store.Change) {
	if len(changes) == 0 {
		return
	}
	g.store.Apply(ctx, changes)
	for _, c := range changes {
		if c.Status != store.Allowed {
			g.failures.Add(1)
			continue
		}
		if c.Moved > 0 {
			g.gifts.Add(1)
			g.units.Add(uint64(c.Moved))
			g.log.Debug("gave rights", "rule", c.Row.Rule, "to", c.To, "units", c.Moved)
		}
		g.ledger.Record(&c.QuotaRow) // a gift stands whether this node believes the reply or not
	}
}
