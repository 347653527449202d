package gossip

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"weir/crdt"
	wirev1 "weir/proto/wire/v1"
)

// lossyWorld is nodes on a network that loses, repeats and overtakes, and that
// die and come back with what they had saved.
type lossyWorld struct {
	t     testing.TB
	rand  *rand.Rand
	now   time.Duration
	nodes []*lossyNode
	wire  []lossyFrame
	loss  float64
	delay time.Duration
	// mute takes the news out of every frame: sessions alone carry rows.
	mute bool
	keys int
}

type lossyNode struct {
	Peer
	core     *Core
	nonce    uint64
	versions map[crdt.RowName]uint64
	given    map[crdt.RowName]int64
	disk     map[crdt.RowName]*crdt.Row
}

type lossyFrame struct {
	at    time.Duration
	to    *lossyNode
	core  *Core // frames to an earlier process are lost with it
	frame []byte
}

func newLossyWorld(t testing.TB, seed uint64) *lossyWorld {
	w := &lossyWorld{t: t, rand: rand.New(rand.NewPCG(seed, 3))}
	w.keys = 1 + w.rand.IntN(400)
	for _, region := range testRegions[:2+w.rand.IntN(2)] {
		for i := range 1 + w.rand.IntN(3) {
			n := &lossyNode{Peer: Peer{fmt.Sprint(region, "-", i), region}, disk: map[crdt.RowName]*crdt.Row{}}
			w.nodes = append(w.nodes, n)
		}
	}
	for _, n := range w.nodes {
		w.start(n)
	}
	return w
}

func (w *lossyWorld) start(n *lossyNode) {
	n.nonce, n.versions, n.given = w.rand.Uint64(), map[crdt.RowName]uint64{}, map[crdt.RowName]int64{}
	n.core = NewCore(CoreConfig{
		Node: n.Name, Region: n.Region, Regions: testRegions, MaxRows: 10_000,
		Rand: rand.New(rand.NewPCG(w.rand.Uint64(), 1)), NowUnix: testNowUnix,
	})
	for name, row := range n.disk {
		for _, e := range row.Entries() {
			restore(n.core, name, e)
		}
	}
	for _, p := range w.nodes {
		if p != n {
			n.core.PeerUp(p.Peer)
		}
	}
}

func (w *lossyWorld) name() crdt.RowName {
	name := testName(fmt.Sprint(w.rand.IntN(w.keys)))
	name.End += int64(w.rand.IntN(3))
	return name
}

// count counts something at a node; now and then it gives.
func (w *lossyWorld) count(n *lossyNode) {
	name := w.name()
	n.versions[name]++
	e := crdt.Entry{Replica: crdt.Replica{Region: n.Region, Nonce: n.nonce}, Version: n.versions[name], Taken: int64(n.versions[name]) * 2}
	if w.rand.IntN(10) == 0 {
		n.given[name]++
	}
	for _, to := range testRegions[:1] {
		if to != n.Region {
			e.Gifts = e.Gifts.With(to, n.given[name])
		}
	}
	record(n.core, name, e)
}

func (w *lossyWorld) save(n *lossyNode) {
	rows := n.core.TakeUnsaved(200)
	for _, row := range rows {
		n.disk[row.Name()] = row
	}
	n.core.MarkDurable(rows)
}

func (w *lossyWorld) chance(p float64) bool { return w.rand.Float64() < p }

// fault does something bad to a node.
func (w *lossyWorld) fault(n *lossyNode) {
	other := w.nodes[w.rand.IntN(len(w.nodes))]
	switch w.rand.IntN(4) {
	case 0:
		w.start(n)
	case 1:
		n.disk = map[crdt.RowName]*crdt.Row{}
		w.start(n)
	case 2:
		n.core.PeerDown(other.Name)
	default:
		if n != other {
			n.core.PeerUp(other.Peer)
		}
	}
}

// turn is one tick of every node and what arrives within it.
func (w *lossyWorld) turn() {
	w.now += TickInterval
	for _, n := range w.nodes {
		n.core.Tick(w.now, testNowUnix)
		w.drain(n)
	}
	slices.SortStableFunc(w.wire, func(a, b lossyFrame) int { return int(a.at - b.at) })
	for len(w.wire) > 0 && w.wire[0].at <= w.now {
		f := w.wire[0]
		w.wire = w.wire[1:]
		if f.core != f.to.core {
			continue
		}
		if err := step(f.to.core, w.now, f.frame); err != nil {
			w.t.Fatal(err)
		}
		if f.to.core.takeUrgent() && w.chance(0.8) { // or with the next tick
			w.drain(f.to)
		}
	}
}

func (w *lossyWorld) drain(n *lossyNode) {
	for more := true; more; {
		var m Message
		if m, more = n.core.Next(w.now); !m.IsZero() {
			w.send(n, m)
		}
	}
}

func (w *lossyWorld) send(from *lossyNode, m Message) {
	if w.chance(w.loss) {
		if w.chance(0.5) {
			from.core.Undelivered(w.now, m.To)
		} else {
			from.core.Sent(m.To)
		}
		return
	}
	from.core.Sent(m.To)
	frame := m.Frame(0)
	if w.mute {
		frame = withoutNews(w.t, frame)
	}
	to := w.nodes[slices.IndexFunc(w.nodes, func(n *lossyNode) bool { return n.Name == m.To })]
	for copies := 1; copies > 0; copies-- {
		w.wire = append(w.wire, lossyFrame{w.now + time.Duration(w.rand.Int64N(int64(w.delay)+1)), to, to.core, frame})
		if w.chance(w.loss / 2) {
			copies++
		}
	}
}

func withoutNews(t testing.TB, frame []byte) []byte {
	var f wirev1.Frame
	if err := proto.Unmarshal(frame, &f); err != nil {
		t.Fatal(err)
	}
	if !f.Repair {
		f.Rows, f.Deltas, f.DeltaReplicas = nil, nil, nil
	}
	return marshal(t, &f)
}

func (w *lossyWorld) equal() bool {
	first := w.nodes[0].core.rows
	for _, n := range w.nodes[1:] {
		for _, span := range append(first.Spans(nil), n.core.rows.Spans(nil)...) {
			if n.core.rows.SpanDigest(span) != first.SpanDigest(span) {
				return false
			}
		}
	}
	return true
}

// run breaks things for a while, then heals all and waits until the nodes are
// equal.
func (w *lossyWorld) run(bound time.Duration) (healed time.Duration) {
	w.t.Helper()
	w.loss, w.delay = w.rand.Float64()*0.4, time.Duration(w.rand.Int64N(int64(500*time.Millisecond)))
	for range 20 + w.rand.IntN(80) {
		for range w.rand.IntN(20) {
			w.count(w.nodes[w.rand.IntN(len(w.nodes))])
		}
		if w.chance(0.1) {
			w.fault(w.nodes[w.rand.IntN(len(w.nodes))])
		}
		if w.chance(0.3) {
			w.save(w.nodes[w.rand.IntN(len(w.nodes))])
		}
		w.turn()
	}
	w.loss, w.delay = 0, 50*time.Millisecond
	for _, n := range w.nodes {
		for _, p := range w.nodes {
			if p != n {
				n.core.PeerUp(p.Peer)
			}
		}
	}
	for from := w.now; !w.equal(); w.turn() {
		for _, n := range w.nodes {
			w.save(n)
		}
		if w.now-from > bound {
			w.t.Fatalf("the nodes differ %v after healing", bound)
		}
		healed = w.now - from
	}
	return healed
}

// TestNodesBecomeEqual whatever is lost, repeated, overtaken or forgotten.
func TestNodesBecomeEqual(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 20
	}
	var slowest time.Duration
	for seed := range seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			slowest = max(slowest, newLossyWorld(t, seed).run(8*time.Second))
		})
	}
	t.Logf("slowest healing %v", slowest)
}

// TestSessionsAloneMakeNodesEqual: no news ever arrives and nothing shows it.
func TestSessionsAloneMakeNodesEqual(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			w := newLossyWorld(t, seed)
			w.mute = true
			w.run(2 * time.Minute)
		})
	}
}
