package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Every namespace's name begins so, followed by the pid of the test.
const namespacePrefix = "weir-chaos-"

// namespaces is where ip keeps them by name.
const namespaces = "/run/netns/"

// network is one namespace for each region and one with the bridge between
// them. Nothing of it is in the namespace of the machine.
type network struct {
	hub     string
	regions []string
	spaces  map[string]*namespace

	mu   sync.Mutex
	cuts map[link]bool
	down map[string]bool
}

// link is one direction between two regions.
type link struct{ from, to string }

// namespace is a region's part of the network.
type namespace struct {
	name    string
	address string // beyond loopback, where other regions reach it
	file    *os.File
}

// openNetwork makes the namespaces; they are removed when the test ends.
func openNetwork(t *testing.T, regions ...string) *network {
	t.Helper()
	sweepNamespaces(t)
	prefix := namespacePrefix + strconv.Itoa(os.Getpid()) + "-"
	n := &network{hub: prefix + "hub", regions: regions, spaces: map[string]*namespace{},
		cuts: map[link]bool{}, down: map[string]bool{}}
	if err := addNamespace(n.hub); err != nil {
		t.Fatalf("this test makes network namespaces, which needs root (CAP_SYS_ADMIN and CAP_NET_ADMIN); `make chaos` asks sudo for it: %v", err)
	}
	t.Cleanup(func() { deleteNamespace(t, n.hub) })
	must(t, run("ip", "-n", n.hub, "link", "add", "bridge", "type", "bridge"))
	must(t, run("ip", "-n", n.hub, "link", "set", "bridge", "up"))
	for i, region := range regions {
		s := &namespace{name: prefix + region, address: fmt.Sprintf("10.77.0.%d", i+1)}
		must(t, addNamespace(s.name))
		t.Cleanup(func() { deleteNamespace(t, s.name) })
		must(t, n.attach(s, fmt.Sprintf("port%d", i)))
		file, err := os.Open(namespaces + s.name)
		must(t, err)
		t.Cleanup(func() { file.Close() })
		s.file, n.spaces[region] = file, s
	}
	return n
}

// filter drops what is cut: packets from addresses of other regions, gossip
// among the nodes of this one, and requests to Redis or its replies. The nodes
// reach Redis under an address each (storeAddress), behind which is one or
// another server.
const filter = `
	table ip chaos {
		set blocked { type ipv4_addr; }
		set deaf { type inet_service; }
		set unasked { type ipv4_addr; }
		set mute { type ipv4_addr; }
		map stores { type ipv4_addr : inet_service; }
		chain in {
			type filter hook input priority 0;
			ip saddr @blocked drop
			iifname lo meta l4proto { tcp, udp } th dport @deaf drop
			ct direction original ct original ip daddr @unasked drop
			ct direction reply ct original ip daddr @mute drop
		}
		chain out {
			type nat hook output priority -100;
			ip daddr 127.0.1.0/24 tcp dport 6379 redirect to :ip daddr map @stores
		}
	}`

// attach joins a namespace to the bridge and gives it the filter.
func (n *network) attach(s *namespace, port string) error {
	return errors.Join(
		run("ip", "-n", n.hub, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", s.name),
		run("ip", "-n", n.hub, "link", "set", port, "master", "bridge", "up"),
		run("ip", "-n", s.name, "address", "add", s.address+"/24", "dev", "eth0"),
		run("ip", "-n", s.name, "link", "set", "lo", "up"),
		run("ip", "-n", s.name, "link", "set", "eth0", "up"),
		s.nft(filter),
	)
}

// cut drops, from now on, every packet in the given directions.
func (n *network) cut(links ...link) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range links {
		if err := n.block("add", l); err != nil {
			return err
		}
		n.cuts[l] = true
	}
	return nil
}

// mend undoes cut.
func (n *network) mend(links ...link) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range links {
		if err := n.block("delete", l); err != nil {
			return err
		}
		delete(n.cuts, l)
	}
	return nil
}

func (n *network) block(verb string, l link) error {
	return n.spaces[l.to].element(verb, "blocked", n.spaces[l.from].address)
}

// nft runs a command of nftables inside the namespace.
func (s *namespace) nft(command ...string) error {
	return run("ip", append([]string{"netns", "exec", s.name, "nft"}, command...)...)
}

// element adds an element to a set of the filter, or deletes it.
func (s *namespace) element(verb, set, element string) error {
	return s.nft(verb, "element", "ip", "chaos", set, "{", element, "}")
}

// setLink takes a region's interface down or up: sending fails at once, where
// cut packets vanish.
func (n *network) setLink(region, state string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down[region] = state == "down"
	return run("ip", "-n", n.spaces[region].name, "link", "set", "eth0", state)
}

// hears says whether news of a region can come to another, perhaps through a
// third; both says whether also every step of the way back is open, as TCP
// needs.
func (n *network) hears(to, from string, both bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	reached := map[string]bool{from: true}
	for range n.regions {
		for _, a := range n.regions {
			for _, b := range n.regions {
				if reached[a] && n.open(link{a, b}) && (!both || n.open(link{b, a})) {
					reached[b] = true
				}
			}
		}
	}
	return reached[to]
}

func (n *network) open(l link) bool { return !n.cuts[l] && !n.down[l.from] && !n.down[l.to] }

// dial connects to an address inside the namespace. A socket stays in the
// namespace it was made in, so what the test sends to a region's loopback is
// never touched by a cut.
func (s *namespace) dial(ctx context.Context, address string) (net.Conn, error) {
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	defer home.Close()
	if err := unix.Setns(int(s.file.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("enter %s: %w", s.name, err)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
		panic("a thread is lost in " + s.name + ": " + back.Error()) // others' sockets would be made there
	}
	runtime.UnlockOSThread()
	return conn, err
}

// sweepNamespaces removes what a test that was killed left behind.
func sweepNamespaces(t *testing.T) {
	t.Helper()
	left, err := filepath.Glob(namespaces + namespacePrefix + "*")
	must(t, err)
	for _, path := range left {
		name := filepath.Base(path)
		pid, _, _ := strings.Cut(strings.TrimPrefix(name, namespacePrefix), "-")
		if _, err := os.Stat("/proc/" + pid); errors.Is(err, os.ErrNotExist) {
			deleteNamespace(t, name)
		}
	}
}

func addNamespace(name string) error { return run("ip", "netns", "add", name) }

func deleteNamespace(t *testing.T, name string) {
	t.Helper()
	if err := run("ip", "netns", "delete", name); err != nil {
		t.Error(err)
	}
}

// run runs a command and tells what it said if it failed.
func run(command string, args ...string) error {
	out, err := exec.Command(command, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", command, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
