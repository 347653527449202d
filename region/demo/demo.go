// Package demo runs three regions in one process on loopback: real nodes, real
// gossip between them, embedded stores, and clients that already call.
package demo

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"weir/limiter/rule"
	"weir/region"
	"weir/region/config"
)

//go:embed rules.yaml
var rulesYAML []byte

var regionNames = [...]string{"eu-west", "us-east", "ap-south"}

// Ports is how far above the base port the demo's last port is.
const Ports = 10*(len(regionNames)-1) + 2

// ErrBasePort says which base ports are possible.
var ErrBasePort = fmt.Errorf("--base-port: must be 1 to %d", 65535-Ports)

// stopBudget bounds how long the nodes may take to stop.
const stopBudget = 10 * time.Second

// Options are what the demo can be told.
type Options struct {
	BasePort int
	Traffic  bool
	Rules    *rule.Set     // nil for the demo's own
	For      time.Duration // 0 runs until the context ends
	Out      io.Writer     // what a person reads
	Log      *slog.Logger
	Version  string
}

// Run runs the demo until the context ends or its time is over, and stops
// everything it started.
func Run(ctx context.Context, opts Options) (err error) {
	if opts.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, opts.For)
		defer cancel()
	}
	if opts.Rules == nil {
		set, err := rule.Parse("demo rules", rulesYAML)
		if err != nil {
			return err
		}
		opts.Rules = set
	}
	began := time.Now()
	// A region gives rights only once a disk holds that it did.
	dir, err := os.MkdirTemp("", "weir-demo-")
	if err != nil {
		return fmt.Errorf("directory for snapshots: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	nodes, err := startAll(ctx, opts, dir)
	if err == nil {
		err = waitReady(ctx, nodes)
	}
	if err == nil && ctx.Err() == nil {
		err = show(ctx, opts, nodes, began)
	}
	return errors.Join(err, stopAll(nodes))
}

func startAll(ctx context.Context, opts Options, dir string) (nodes []*region.Node, err error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	for i := range regionNames {
		n, err := region.Start(ctx, region.Options{
			Config: nodeConfig(opts.BasePort, i, dir), Rules: opts.Rules, Keyring: [][]byte{key},
			Log: opts.Log, Version: opts.Version,
		})
		if err != nil {
			return nodes, fmt.Errorf("region %s: %w (--base-port chooses other ports)", regionNames[i], err)
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func nodeConfig(basePort, i int, dir string) *config.Config {
	cfg := config.Defaults()
	cfg.Region, cfg.Node = regionNames[i], regionNames[i]+"-1"
	for j, name := range regionNames {
		cfg.Regions = append(cfg.Regions, config.Region{Name: name, Weight: 1})
		if j < i {
			cfg.Gossip.Join = append(cfg.Gossip.Join, address(basePort, j, 2))
		}
	}
	cfg.Listen = config.Listen{GRPC: address(basePort, i, 0), HTTP: address(basePort, i, 1), Gossip: address(basePort, i, 2)}
	cfg.Store = config.MemoryStore
	cfg.Snapshot = filepath.Join(dir, cfg.Node+".db")
	return cfg
}

// address is where a region listens: door 0 is gRPC, 1 HTTP, 2 gossip.
func address(basePort, region, door int) string {
	return fmt.Sprintf("127.0.0.1:%d", basePort+10*region+door)
}

func waitReady(ctx context.Context, nodes []*region.Node) error {
	for _, n := range nodes {
		select {
		case <-n.Ready():
		case err := <-n.Failed():
			return err
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

func stopAll(nodes []*region.Node) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopBudget)
	defer cancel()
	errs := make([]error, len(nodes))
	done := make(chan struct{})
	for i, n := range nodes {
		go func() { errs[i] = n.Stop(ctx); done <- struct{}{} }()
	}
	for range nodes {
		<-done
	}
	return errors.Join(errs...)
}
