package region

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/limiter/rule"
	"weir/region/config"
)

const testRules = `
rules:
  - {name: burst, count_by: [api_key], limit: 100/s, burst: 500}
  - {name: daily, count_by: [api_key], quota: 1000/day}
  - {name: orders, count_by: [user], quota: 1000/day, refundable: true}
`

var quietLog = slog.New(slog.DiscardHandler)

// beginNode starts a node on free ports. change may change its configuration;
// the test's end stops it.
func beginNode(t *testing.T, name string, change func(*config.Config)) *Node {
	t.Helper()
	return beginPatientNode(t, name, impatient(), change)
}

func impatient() waits {
	waits := defaultWaits()
	waits.appear, waits.restarted = time.Millisecond, time.Millisecond
	waits.rivalry = rivalry{yield: 500 * time.Millisecond, meet: 2 * time.Second}
	return waits
}

// beginPatientNode does the same with these waits for others.
func beginPatientNode(t *testing.T, name string, waits waits, change func(*config.Config)) *Node {
	t.Helper()
	return beginLoggedNode(t, name, waits, quietLog, change)
}

// beginLoggedNode does the same and logs there.
func beginLoggedNode(t *testing.T, name string, waits waits, log *slog.Logger, change func(*config.Config)) *Node {
	t.Helper()
	rules, err := rule.Parse("rules.yaml", []byte(testRules))
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Defaults()
	cfg.Region, cfg.Node = name, name+"-1"
	cfg.Regions = []config.Region{{Name: "eu", Weight: 1}, {Name: "us", Weight: 1}}
	cfg.Listen = config.Listen{GRPC: "127.0.0.1:0", HTTP: "127.0.0.1:0", Gossip: "127.0.0.1:0"}
	cfg.Snapshot = filepath.Join(t.TempDir(), "state.db")
	if change != nil {
		change(cfg)
	}
	n, err := Start(t.Context(), Options{Config: cfg, Rules: rules, Log: log, Version: "test", waits: waits})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopNode(t, n) })
	return n
}

// startNode does the same and waits until the node is ready.
func startNode(t *testing.T, name string, change func(*config.Config)) *Node {
	t.Helper()
	n := beginNode(t, name, change)
	waitReady(t, n)
	return n
}

func waitReady(t *testing.T, n *Node) {
	t.Helper()
	select {
	case <-n.Ready():
	case <-time.After(30 * time.Second):
		t.Fatalf("not ready after 30 s: %v", n.NotReady())
	}
}

func stopNode(t *testing.T, n *Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := n.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func TestANodeLeavesNothingBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	n := startNode(t, "eu", nil)
	stopNode(t, n)
}

// waitUntil polls until the condition holds, or fails after 20 s.
func waitUntil(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
