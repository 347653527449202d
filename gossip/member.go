package gossip

import (
	"cmp"
	"slices"
	"time"

	"github.com/hashicorp/memberlist"
)

// conflictQuiet is how often one name's conflict is logged.
const conflictQuiet = 10 * time.Second

// Member is a node as the membership protocol sees it.
type Member struct {
	Name, Region string
	// Store is the kind of its region's store, "memory" or "redis".
	Store string
	// Diskless says that it has no disk to make gifts durable on.
	Diskless bool
	// Silence is for how long nothing was heard of it; members speak twice a
	// second.
	Silence time.Duration
	// Addr is IP:port of its gossip.
	Addr string
	// Self says that it is this node.
	Self bool
}

// Members returns the nodes that are members now, this one among them, in
// order of name.
func (m *Mesh) Members() []Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Member, 0, len(m.members))
	now := m.cfg.Clock()
	for _, member := range m.members {
		member.Silence = m.core.Silence(now, member.Name)
		out = append(out, member)
	}
	slices.SortFunc(out, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (m *Mesh) isMember(addr string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, member := range m.members {
		if member.Addr == addr {
			return true
		}
	}
	return false
}

// events takes memberlist's verdicts. memberlist calls it with its own lock
// held: nothing here waits, or calls memberlist back.
type events struct{ m *Mesh }

// NotifyJoin implements memberlist.EventDelegate.
func (e events) NotifyJoin(n *memberlist.Node) {
	about, err := readMeta(n.Meta)
	if err != nil {
		e.m.log.Warn("gossip: member ignored", "node", n.Name, "addr", hostPort(n), "error", err)
		return
	}
	e.m.joiner.joined(n.Name)
	e.m.memberUp(*n, Member{
		Name: n.Name, Region: about.Region, Store: about.Store, Diskless: about.Diskless,
		Addr: hostPort(n), Self: n.Name == e.m.cfg.Node,
	})
}

// NotifyLeave implements memberlist.EventDelegate.
func (e events) NotifyLeave(n *memberlist.Node) {
	if n.Name != e.m.cfg.Node {
		e.m.joiner.gone(n.Name, hostPort(n), time.Now())
	}
	e.m.memberDown(n.Name)
}

// NotifyUpdate implements memberlist.EventDelegate. A member that changed what
// it says of itself has started anew.
func (e events) NotifyUpdate(n *memberlist.Node) {
	e.m.memberDown(n.Name)
	e.NotifyJoin(n)
}

// NotifyConflict implements memberlist.ConflictDelegate.
func (e events) NotifyConflict(existing, other *memberlist.Node) {
	e.m.conflicts.Add(1)
	if existing.Name == e.m.cfg.Node {
		e.m.joiner.unsettle(time.Now())
	}
	e.m.mu.Lock()
	last, seen := e.m.conflictAt[existing.Name]
	now := e.m.cfg.Clock()
	loud := !seen || now-last >= conflictQuiet
	if loud && (seen || len(e.m.conflictAt) < maxPeers) {
		e.m.conflictAt[existing.Name] = now
	}
	e.m.mu.Unlock()
	if loud {
		e.m.log.Error("gossip: two nodes have one name; the later one is kept out until the first is gone",
			"node", existing.Name, "addr", hostPort(existing), "other_addr", hostPort(other))
	}
}

func (m *Mesh) memberUp(n memberlist.Node, member Member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.members[member.Name] = member
	if !member.Self && m.core.PeerUp(Peer{member.Name, member.Region}) {
		m.startSender(n)
	}
}

func (m *Mesh) memberDown(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.members, name)
	m.core.PeerDown(name)
	m.wakeExchanges()
	m.stopSender(name)
}
