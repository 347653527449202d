package chaos

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// world is everything that runs: the network, the regions, the clients.
type world struct {
	binary   string
	dir      string // logs, configuration, snapshots
	network  *network
	regions  []*region
	ledger   *ledger
	load     *load
	stalls   *stalls
	timeline *timeline
}

// region is a Redis server and the nodes that share it.
type region struct {
	name  string
	space *namespace
	store *store
	nodes []*node
}

const nodesPerRegion = 2

// readyWithin bounds a node's start: five seconds without a peer, and what it
// loads.
const readyWithin = 15 * time.Second

// openWorld starts three regions and returns once every node is ready.
func openWorld(ctx context.Context, t *testing.T) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), ledger: newLedger(), timeline: newTimeline(time.Now())}
	w.stalls = newStalls(w.timeline.rights)
	sweepDisks(t)
	w.network = openNetwork(t, "ap-south", "eu-west", "us-east")
	w.binary = buildWeir(t)
	must(t, os.WriteFile(filepath.Join(w.dir, "rules.yaml"), []byte(rules()), 0o644))
	key := make([]byte, 32)
	_, err := rand.Read(key)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(w.dir, "keyring"), []byte(base64.StdEncoding.EncodeToString(key)+"\n"), 0o600))
	for _, name := range w.network.regions {
		r := &region{name: name, space: w.network.spaces[name]}
		r.store = newStore(w.dir, r)
		for i := range nodesPerRegion {
			r.nodes = append(r.nodes, w.newNode(t, r, i))
		}
		w.regions = append(w.regions, r)
	}
	t.Cleanup(func() {
		for _, p := range w.processes() {
			_ = p.signal(continueSignal) // it may be dead
			if err := p.kill(); err != nil {
				t.Error(err)
			}
		}
	})
	for _, r := range w.regions {
		must(t, r.store.start(ctx))
	}
	must(t, startAll(ctx, w.nodes()...))
	w.load = newLoad(w)
	w.timeline.began = time.Now()
	return w
}

// startAll starts nodes together and waits until all are ready.
func startAll(ctx context.Context, nodes ...*node) error {
	for _, n := range nodes {
		if err := n.start(); err != nil {
			return err
		}
	}
	errs := make([]error, len(nodes))
	var waiting sync.WaitGroup
	for i, n := range nodes {
		waiting.Go(func() { errs[i] = n.ready(ctx, readyWithin) })
	}
	waiting.Wait()
	return errors.Join(errs...)
}

func (w *world) nodes() (all []*node) {
	for _, r := range w.regions {
		all = append(all, r.nodes...)
	}
	return all
}

func (w *world) processes() (all []*process) {
	for _, r := range w.regions {
		for _, n := range r.nodes {
			all = append(all, n.process)
		}
		for _, s := range r.store.running() {
			all = append(all, s.process)
		}
	}
	return all
}

// alive returns nil while every process runs.
func (w *world) alive() error {
	var errs []error
	for _, p := range w.processes() {
		errs = append(errs, p.alive())
	}
	return errors.Join(errs...)
}

func (w *world) region(name string) *region {
	for _, r := range w.regions {
		if r.name == name {
			return r
		}
	}
	panic(fmt.Sprintf("no region %q", name))
}
