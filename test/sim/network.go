package sim

import (
	"time"

	"google.golang.org/protobuf/proto"

	"weir/gossip"
	wirev1 "weir/proto/wire/v1"
)

// slowest is the longest a frame travels the first time.
const slowest = 2 * time.Second

// holePatience is how long a sender waits for a connection through a hole.
const holePatience = 3 * time.Second

type link struct{ from, to string }

// network carries frames, badly.
type network struct {
	w       *world
	blocked map[link]bool
	// holes swallow frames for good: they outlast the healing. The membership
	// protocol does not notice, others answer in their stead.
	holes map[link]bool
	// silent holds since when a region has had no open link out.
	silent map[string]time.Duration

	loss, told, twice, garble float64
	delay, jitter             time.Duration
	// worst is the longest a frame may have travelled so far.
	worst time.Duration
}

func newNetwork(w *world) network {
	n := network{w: w, blocked: map[link]bool{}, holes: map[link]bool{}, silent: map[string]time.Duration{}}
	n.calm()
	if w.plan.Faults.has(Network) {
		n.weather()
	}
	n.worst = max(n.worst, n.delay+n.jitter)
	return n
}

// weather draws how bad the network is.
func (n *network) weather() {
	w := n.w
	n.loss, n.told = w.rand.Float64()*0.4, w.rand.Float64()
	n.twice, n.garble = w.rand.Float64()*0.3, w.rand.Float64()*0.05
	n.delay, n.jitter = w.between(1, 200*time.Millisecond), w.between(1, 300*time.Millisecond)
	if w.chance(0.1) {
		n.jitter = slowest - n.delay
	}
	n.worst = max(n.worst, n.delay+n.jitter)
}

func (n *network) calm() {
	clear(n.blocked)
	clear(n.silent)
	n.loss, n.twice, n.garble = 0, 0, 0
	n.delay, n.jitter = 50*time.Millisecond, 50*time.Millisecond
}

func (n *network) open(from, to *node) bool { return n.connected(from, to) && !n.hole(from, to) }

// connected is open without regard to holes.
func (n *network) connected(from, to *node) bool { return !n.blocked[link{from.name, to.name}] }

func (n *network) hole(from, to *node) bool { return n.holes[link{from.name, to.name}] }

// send takes a frame from a node. The sender hears that it was sent, or that it
// was not; where it was lost it may hear either.
func (n *network) send(from *node, m gossip.Message) {
	w := n.w
	to := w.node(m.To)
	lost := !n.open(from, to) || to.core == nil || w.chance(n.loss)
	told, verdict := lost && w.chance(n.told), w.between(1, 50*time.Millisecond)
	if n.hole(from, to) {
		// A connection is never made; the sender waits for it.
		told, verdict = true, holePatience
	}
	frame, view := m.Frame(0), from.tells(to)
	if w.opt.Trace != nil {
		w.note("  %s → %s %d bytes lost=%v told=%v", from.name, m.To, len(frame), lost, told)
	}
	from.later(verdict, "report", func() {
		if told {
			from.core.Undelivered(from.now(), m.To)
		} else {
			from.core.Sent(m.To)
		}
	})
	if lost {
		return
	}
	delay := n.delay + w.between(0, n.jitter)
	if from.region == to.region {
		delay /= 10
	}
	switch {
	case w.chance(n.garble):
		frame = append([]byte{0xff}, frame...)
	case w.chance(n.twice):
		n.carry(to, frame, view, slowest+w.between(0, 8*time.Second))
	}
	n.carry(to, frame, view, delay)
}

func (n *network) carry(to *node, frame []byte, view splitView, delay time.Duration) {
	w := n.w
	// Who recorded a frame could replay it to a new process, which cannot
	// know; a network does not.
	to.later(delay, "frame", func() {
		to.hearSplit(view)
		err := to.step(w.mutate(frame))
		if bad := frame[0] == 0xff; bad != (err != nil) {
			w.violate("malformed", "a frame of %d bytes, garbled: %v, gave %v", len(frame), bad, err)
		}
	})
}

// mutate lets the mutant at a frame.
func (w *world) mutate(frame []byte) []byte {
	if w.mutant.Frame == nil || frame[0] == 0xff {
		return frame
	}
	var f wirev1.Frame
	if err := proto.Unmarshal(frame, &f); err != nil {
		panic(err)
	}
	w.mutant.Frame(&f)
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(&f)
	if err != nil {
		panic(err)
	}
	return out
}

func (w *world) node(name string) *node {
	for _, n := range w.nodes {
		if n.name == name {
			return n
		}
	}
	panic("no node " + name)
}
