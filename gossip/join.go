package gossip

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// After a long cut, members do not find each other by themselves for
	// minutes; with this, in a second.
	joinInterval = time.Second
	// joinTimeout bounds the look-up of one address.
	joinTimeout = 2 * time.Second
	// joinAgain is when an address that answered is tried anew although no
	// member bears it: it may be one that leads to a member by another name.
	joinAgain = 30 * time.Second
	// joinAtOnce bounds the addresses tried at the same time.
	joinAtOnce = 32
	// For so long after somebody took this node's name for another's, members
	// are joined again although they are members here.
	unsettledFor = 5 * time.Second
	// A member that left is tried for so long.
	rememberLost = time.Hour
	maxLost      = 256
)

const srvScheme = "dns+srv://"

// joinAddr is an address to join at: host and port, or an SRV record.
type joinAddr struct {
	host, port string
	srv        string
}

func parseJoin(addr string) (joinAddr, error) {
	if name, ok := strings.CutPrefix(addr, srvScheme); ok {
		if name == "" || strings.ContainsAny(name, "/: ") {
			return joinAddr{}, fmt.Errorf("%w: join address %q: %s must be followed by the name of an SRV record", ErrConfig, addr, srvScheme)
		}
		return joinAddr{srv: name}, nil
	}
	host, port, err := net.SplitHostPort(addr)
	if n, portErr := strconv.ParseUint(port, 10, 16); err != nil || host == "" || portErr != nil || n == 0 {
		return joinAddr{}, fmt.Errorf("%w: join address %q: must be host:port or %sNAME", ErrConfig, addr, srvScheme)
	}
	return joinAddr{host: host, port: port}, nil
}

// resolve returns the IP:port pairs an address stands for now.
func (a joinAddr) resolve(ctx context.Context) ([]string, error) {
	if a.srv == "" {
		return resolveHost(ctx, a.host, a.port)
	}
	_, records, err := net.DefaultResolver.LookupSRV(ctx, "", "", a.srv)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range records {
		addrs, err := resolveHost(ctx, strings.TrimSuffix(r.Target, "."), strconv.Itoa(int(r.Port)))
		if err != nil {
			return out, err
		}
		out = append(out, addrs...)
	}
	return out, nil
}

func resolveHost(ctx context.Context, host, port string) ([]string, error) {
	ips, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, ip := range ips {
		out = append(out, net.JoinHostPort(ip.IP.String(), port))
	}
	return out, nil
}

// joiner keeps in touch with nodes that should be members and are not.
type joiner struct {
	configured []joinAddr

	mu sync.Mutex
	// members that left, by name: they may be back before they say so.
	lost map[string]lostMember
	// answered holds when addresses last answered.
	answered map[string]time.Time
	// failing holds addresses whose failure was told and that have not answered
	// since.
	failing map[string]bool
	// Until then, others may not have this node as a member.
	unsettled time.Time
}

type lostMember struct {
	addr string
	at   time.Time
}

func newJoiner(addrs []string) (*joiner, error) {
	j := &joiner{lost: make(map[string]lostMember), failing: make(map[string]bool), answered: make(map[string]time.Time)}
	for _, addr := range addrs {
		a, err := parseJoin(addr)
		if err != nil {
			return nil, err
		}
		j.configured = append(j.configured, a)
	}
	return j, nil
}

// joined notes that a member is up; gone, that it is not.
func (j *joiner) joined(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.lost, name)
}

func (j *joiner) gone(name, addr string, now time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	clear(j.answered)
	if len(j.lost) >= maxLost {
		j.forgetOldest()
	}
	j.lost[name] = lostMember{addr, now}
}

// unsettle notes that another node holds this node's name for that of an
// earlier life of it, at another address. It will take this one only when it
// hears of it again after it has found out.
func (j *joiner) unsettle(now time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.unsettled = now.Add(unsettledFor)
}

func (j *joiner) isUnsettled(now time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return now.Before(j.unsettled)
}

func (j *joiner) forgetOldest() {
	oldest := ""
	for name, l := range j.lost {
		if oldest == "" || l.at.Before(j.lost[oldest].at) {
			oldest = name
		}
	}
	delete(j.lost, oldest)
}

func (j *joiner) lostAddrs(now time.Time) (addrs []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for name, l := range j.lost {
		if now.Sub(l.at) > rememberLost {
			delete(j.lost, name)
			continue
		}
		addrs = append(addrs, l.addr)
	}
	return addrs
}

// failedAnew says whether the address had not failed since it last answered.
func (j *joiner) failedAnew(addr string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.failing) >= maxLost || j.failing[addr] {
		return false
	}
	j.failing[addr] = true
	return true
}

func (j *joiner) answeredLately(addr string, now time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	at, ok := j.answered[addr]
	return ok && now.Sub(at) < joinAgain
}

func (j *joiner) noteAnswered(addr string, now time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.answered) >= maxLost {
		clear(j.answered)
	}
	j.answered[addr] = now
	delete(j.failing, addr)
}

// joinLoop tries what is missing, at once and then every second.
func (m *Mesh) joinLoop(ctx context.Context) {
	tick := time.NewTicker(joinInterval)
	defer tick.Stop()
	for {
		m.joinMissing(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// joinMissing tries every address at once: a silent one takes seconds, and must
// not keep the node from a peer that answers.
func (m *Mesh) joinMissing(ctx context.Context) {
	var g errgroup.Group
	g.SetLimit(joinAtOnce)
	addrs := append(m.resolveAll(ctx), m.tryAddrs(time.Now())...)
	slices.Sort(addrs)
	for _, addr := range slices.Compact(addrs) {
		g.Go(func() error {
			m.joinOne(ctx, addr)
			return nil
		})
	}
	_ = g.Wait() // the functions return no error
}

// resolveAll looks up all configured addresses, each within joinTimeout.
func (m *Mesh) resolveAll(ctx context.Context) (addrs []string) {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(joinAtOnce)
	found := make([][]string, len(m.joiner.configured))
	for i, a := range m.joiner.configured {
		g.Go(func() error {
			var err error
			if found[i], err = a.resolve(ctx); err != nil {
				m.log.Debug("gossip: join address does not resolve", "host", a.host, "srv", a.srv, "error", err)
			}
			return nil
		})
	}
	_ = g.Wait() // the functions return no error
	return slices.Concat(found...)
}

// tryAddrs are the addresses to try that nobody configured.
func (m *Mesh) tryAddrs(now time.Time) []string {
	addrs := m.joiner.lostAddrs(now)
	if m.joiner.isUnsettled(now) {
		for _, member := range m.Members() {
			addrs = append(addrs, member.Addr)
		}
	}
	return addrs
}

func (m *Mesh) joinOne(ctx context.Context, addr string) {
	if ctx.Err() != nil || addr == m.Addr() {
		return
	}
	now := time.Now()
	if !m.joiner.isUnsettled(now) && (m.isMember(addr) || m.joiner.answeredLately(addr, now)) {
		return
	}
	if _, err := m.list.Join([]string{addr}); err != nil {
		if m.joiner.failedAnew(addr) {
			m.log.Warn("gossip: join failed, tried again every second", "addr", addr, "error", err)
		}
		return
	}
	m.log.Info("gossip: joined", "addr", addr)
	m.joiner.noteAnswered(addr, now)
}
