package sim

import (
	"fmt"
	"time"

	"weir/crdt"
)

// shortage is a region being denied for want of rights, without a break.
type shortage struct {
	since  time.Duration
	last   time.Duration // when it was last denied
	begun  bool
	denied int
}

func (s *shortage) end() { *s = shortage{} }

// rightsPatience is how long a region may be denied for want of rights while
// others that it is connected with hold rights beyond their reserve. Two seconds
// are meant; where nodes died shortly before, one schedule in some ten thousand
// takes up to 2.2 s.
const rightsPatience = 2500 * time.Millisecond

// askingPause is how long nobody may ask until a shortage is over: a want that is
// not told again is forgotten.
const askingPause = time.Second

// patience is longer where a link stays dead for good: news goes round it.
func (w *world) patience() time.Duration {
	if len(w.net.holes) > 0 {
		return 2 * rightsPatience
	}
	return rightsPatience
}

// refused judges a denial for want of rights.
func (t *truth) refused(n *node, name crdt.RowName, cost int64) {
	w := t.w
	rt := t.row(name)
	s := &rt.regions[n.region.index].short
	if !w.allWell() || !t.helpAt(n.region, rt, cost) {
		s.end()
		return
	}
	if !s.begun || w.now-s.last > askingPause {
		s.begun, s.since = true, w.now
	}
	s.last = w.now
	s.denied++
	w.report.Shortest = max(w.report.Shortest, w.now-s.since)
	if w.now-s.since > w.patience() {
		w.violate("liveness", "%s has been denied %s for want of rights for %v, and others have enough: %s", n.region.name, label(name), w.now-s.since, t.show(rt))
	}
}

// show is how a row stands.
func (t *truth) show(rt *rowTruth) (out string) {
	for i := range rt.regions {
		g := &rt.regions[i]
		out += fmt.Sprintf("%s took %d, gave %d, received %d and has %d left and %d not told of; ",
			t.w.regions[i].name, g.allowed, g.gifted, g.received, t.left(t.w.regions[i], rt), g.unspent)
	}
	return out
}

// maxStranded is how many units each other region may have left that are not
// given for a while, since several regions want the last of them.
const maxStranded = 2 // units

// helpAt says whether another region holds rights beyond its reserve that would
// cover a cost.
func (t *truth) helpAt(r *region, rt *rowTruth, cost int64) bool {
	left := rt.rule.limit
	for i := range rt.regions {
		left -= rt.regions[i].allowed + rt.regions[i].unspent
	}
	reserve := max(0, left) / int64(len(rt.regions)) * reservePercent / 100
	most := int64(0)
	for i := range rt.regions {
		spare := t.left(t.w.regions[i], rt) - rt.regions[i].unspent - reserve
		if name := storeName(rt.name); !name.Within(t.w.regions[i].store.nowUs()) {
			return false // by its clock the period has ended, or not begun: it can neither give nor take
		}
		if i != r.index {
			most += max(0, spare)
		}
	}
	own := t.left(r, rt) - rt.regions[r.index].unspent
	return most > maxStranded*int64(len(rt.regions)-1) && own+most >= cost && left >= cost
}

// allWell says whether every node and store has been reachable for a while.
func (w *world) allWell() bool { return w.now-w.wellSince > 4*time.Second && w.wellSince > 0 }

// checkEnd compares every row with the truth.
func (w *world) checkEnd() {
	for _, rt := range w.truth.list {
		if !w.dropping(rt.name) {
			w.checkRow(rt)
		}
	}
	for _, n := range w.living() {
		n.checkEnd()
	}
	w.checkSettled()
	w.report.end(w)
}

func (n *node) checkEnd() {
	w := n.w
	if !n.core.FirstSync() {
		w.violate("sync", "%s never got a whole answer", n.name)
	}
	for _, h := range n.core.Heard(n.now()) {
		if !h.Known || h.Age > 2*time.Second {
			w.violate("ages", "%s says %s is %v old (known: %v), all is well", n.name, h.Region, h.Age, h.Known)
		}
	}
	live := 0
	for _, rt := range w.truth.list {
		if n.unix() <= rt.name.End+gracePeriod+1 {
			live++
		}
	}
	if n.core.Len() > live {
		w.violate("periods", "%s keeps %d rows, only %d of them have not ended", n.name, n.core.Len(), live)
	}
}

// checkRow: never below what was allowed and not forgotten, above it by no more
// than lost leases and calls that were not settled.
func (w *world) checkRow(rt *rowTruth) {
	for i, r := range w.regions {
		g := &rt.regions[i]
		net, low, high := int64(0), int64(0), int64(0)
		for _, k := range rt.order {
			if k.replica.Region == r.name {
				least, most := k.bounds()
				net, low, high = net+k.last().Net(), low+least, high+most
			}
		}
		// The entries are what was allowed, and what was charged and not told of:
		// lost leases and calls that were not settled.
		if net != g.allowed+g.unspent {
			w.violate("ledger", "replicas of %s took %d of row %s; %d was allowed and %d not told of",
				r.name, net, label(rt.name), g.allowed, g.unspent)
		}
		for _, n := range w.living() {
			if value := n.value(rt, r.name); value < low || value > high {
				w.violate("ledger", "%s: region %s took %d of row %s, it must be %d to %d; %d was allowed, %d not told of",
					n.name, r.name, value, label(rt.name), low, high, g.allowed, g.unspent)
			}
		}
	}
}

// value is what a node knows that a region took of a row, net.
func (n *node) value(rt *rowTruth, region string) (units int64) {
	for _, e := range n.entries(rt) {
		if e.Replica.Region == region {
			units += e.Net()
		}
	}
	return units
}

// bounds is what a replica may be known to have taken, net, at the least and the
// most: by any version that was not forgotten.
func (k *replicaTruth) bounds() (least, most int64) {
	if k.must > 0 {
		least, most = k.entries[k.must-1].Net(), k.entries[k.must-1].Net()
	}
	for _, e := range k.entries[k.must:] {
		least, most = min(least, e.Net()), max(most, e.Net())
	}
	return least, most
}

// checkSettled: a node that lives settles what its calls left open in a reign
// that goes on, and returns its leases.
func (w *world) checkSettled() {
	for id, c := range w.truth.charges {
		n := c.node
		goesOn := n.core != nil && n.life == c.life && n.reign == c.reign && !w.over(c)
		if goesOn && (!c.lease || !c.late) {
			w.violate("settled", "%s has not settled %d units of %s, lease: %v, request %x", n.name, c.units, label(c.row.name), c.lease, id)
		}
	}
}

// over says whether the row's period ended, so that its store refuses.
func (w *world) over(c *charge) bool { return c.region.store.unix() >= c.row.name.End }
