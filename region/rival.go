package region

import (
	"context"
	"fmt"
	"time"

	"weir/gossip"
	"weir/region/config"
)

// A store in memory decides alone, so a second node beside it would let through
// as much again. Who is there first stays. Nodes do not tell each other when
// they began, so it is found out like this: a node that is not ready yet yields
// to one that is there; of two that begin together, or are both ready when they
// meet, the one whose name is greater gives up.

// rivalry is how long a node bears another one beside it.
type rivalry struct {
	// yield is how long a node that is not ready waits for one of a greater name
	// to give up, before it takes it for the one that was first.
	yield time.Duration
	// meet is how long a ready node of the greater name waits for the other,
	// which may be only starting, to give up. It is longer than a start takes.
	meet time.Duration
}

const (
	rivalYield = 3 * time.Second
	rivalMeet  = 15 * time.Second
	// rivalLook is how often a node looks for others of its region.
	rivalLook = 100 * time.Millisecond
)

// rival returns the node of the first name that cannot be in this region
// beside this one.
func (n *Node) rival() (gossip.Member, bool) {
	cfg := n.opts.Config
	for _, m := range n.mesh.Members() { // in order of name
		if !m.Self && m.Region == cfg.Region && (m.Store == config.MemoryStore || cfg.StoreKind() == config.MemoryStore) {
			return m, true
		}
	}
	return gossip.Member{}, false
}

// patience is how long this node bears one of that name; never is for ever.
func (n *Node) patience(name string) (d time.Duration, never bool) {
	greater := n.opts.Config.Node > name
	select {
	case <-n.ready:
		return n.opts.waits.rivalry.meet, !greater
	default:
	}
	if greater {
		return 0, false
	}
	return n.opts.waits.rivalry.yield, false
}

// watchRivals gives up if another node must be alone in this region. It returns
// then, or when the context ends.
func (n *Node) watchRivals(ctx context.Context) {
	look := time.NewTicker(rivalLook)
	defer look.Stop()
	var met struct {
		name string // empty: nobody is there
		at   time.Time
	}
	for {
		m, _ := n.rival()
		if m.Name != met.name {
			met.name, met.at = m.Name, time.Now()
		}
		if m.Name != "" && n.lostTo(m, time.Since(met.at)) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// lostTo says whether this node has given up because of a member that has been
// there for so long.
func (n *Node) lostTo(m gossip.Member, there time.Duration) bool {
	patience, never := n.patience(m.Name)
	if never || there < patience {
		return false
	}
	err := fmt.Errorf("store: node %s at %s is in region %s too, and a store in memory is for a region of one node: whichever was ready first stays, of two that began together or meet later the one whose name sorts first; give every node of the region the same redis:// store, or stop that node",
		m.Name, m.Addr, n.opts.Config.Region)
	n.waitingFor("%v", err)
	n.fail(err)
	return true
}

// waitForRivals returns once no other node keeps this one from being ready.
func (n *Node) waitForRivals(ctx context.Context) bool {
	look := time.NewTicker(rivalLook)
	defer look.Stop()
	for {
		m, ok := n.rival()
		if !ok {
			return ctx.Err() == nil
		}
		n.waitingFor("node %s at %s is in region %s too, and a store in memory is for a region of one node", m.Name, m.Addr, m.Region)
		select {
		case <-ctx.Done():
			return false
		case <-look.C:
		}
	}
}
