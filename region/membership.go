package region

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"weir/crdt"
	"weir/gossip"
	"weir/region/ledger"
)

// ReadKeyring reads the keys that encrypt gossip, one base64 key a line, the
// primary first.
func ReadKeyring(path string) ([][]byte, error) { return gossip.ReadKeyring(path) }

// openMesh begins membership with the rows that the snapshot held.
func (n *Node) openMesh(ctx context.Context) error {
	cfg := n.opts.Config
	host, port, err := splitHostPort(cfg.Listen.Gossip)
	if err != nil {
		return fmt.Errorf("listen.gossip: %w", err)
	}
	var advertiseHost string
	var advertisePort int
	if cfg.Gossip.Advertise != "" {
		if advertiseHost, advertisePort, err = splitHostPort(cfg.Gossip.Advertise); err != nil {
			return fmt.Errorf("gossip.advertise: %w", err)
		}
	}
	if _, err := cfg.Splits(); err != nil {
		return fmt.Errorf("regions: %w", err)
	}
	splits, err := n.savedSplits()
	if err != nil {
		return err
	}
	saved := 0
	mesh, err := gossip.Open(gossip.Config{
		Node: cfg.Node, Region: cfg.Region, Regions: cfg.RegionNames(), Store: cfg.StoreKind(),
		MaxRows: cfg.Limits.QuotaRows, Watch: true, Diskless: n.saver == nil,
		BindAddr: host, BindPort: port, AdvertiseAddr: advertiseHost, AdvertisePort: advertisePort,
		Keys: n.opts.Keyring, Join: cfg.Gossip.Join,
		Logger: n.log, Clock: bootClock(), Deliver: n.deliver,
		Splits: splits,
		Saved: func(add func(*crdt.Row)) error {
			if n.saver == nil {
				return nil
			}
			rows, err := n.saver.restore(ctx, add)
			saved = rows
			return err
		},
	})
	if err != nil {
		return fmt.Errorf("gossip: %w", err)
	}
	n.mesh = mesh
	n.cleanups.add("close gossip", closeBudget, func(context.Context) error { return mesh.Close() })
	if n.saver != nil {
		n.saver.mesh = mesh
		n.cleanups.add("write the snapshot", saveBudget, n.saver.save)
	}
	n.cleanups.add("leave gossip", leaveBudget, mesh.Leave)
	if saved > 0 {
		n.restoredFromNow("snapshot")
	}
	n.log.Info("rows loaded from the snapshot", "rows", saved)
	n.regions = newRegionStates(cfg.Region, cfg.RegionNames(), mesh)
	n.ledger = ledger.New(cfg.Region, mesh, mesh.Splits, bootClock())
	return nil
}

func splitHostPort(addr string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.Atoi(text)
	if err != nil {
		return "", 0, fmt.Errorf("port %q: %w", text, err)
	}
	switch host {
	case "":
		host = "0.0.0.0"
	case "localhost":
		host = "127.0.0.1"
	}
	return host, port, nil
}

// restoredFromNow remembers a source of rows for the operator.
func (n *Node) restoredFromNow(source string) {
	n.restoreMu.Lock()
	defer n.restoreMu.Unlock()
	for _, known := range n.restored {
		if known == source {
			return
		}
	}
	n.restored = append(n.restored, source)
}

// restoredFrom tells where the node's rows came from: snapshot, store, peers;
// nothing when it began empty.
func (n *Node) restoredFrom() []string {
	n.restoreMu.Lock()
	defer n.restoreMu.Unlock()
	if len(n.restored) == 0 {
		return []string{"nothing"}
	}
	return append([]string(nil), n.restored...)
}

const heardInterval = 100 * time.Millisecond
