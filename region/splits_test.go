package region

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"weir/crdt"
	"weir/gossip"
	"weir/limiter/store/storetest"
	weirv1 "weir/proto/weir/v1"
	wirev1 "weir/proto/wire/v1"
	"weir/region/config"
	"weir/region/snapshot"
)

// nodeLog is a log that tests read while it is written.
type nodeLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *nodeLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// lines are those that say so.
func (l *nodeLog) lines(says string) (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		if strings.Contains(line, says) {
			out = append(out, line)
		}
	}
	return out
}

const (
	differ   = "differ from the split in force"
	conflict = "told different splits"
)

// logged starts a node that logs there.
func logged(t *testing.T, name string, change func(*config.Config)) (*Node, *nodeLog) {
	t.Helper()
	l := new(nodeLog)
	n := beginLoggedNode(t, name, impatient(), slog.New(slog.NewTextHandler(l, nil)), change)
	waitReady(t, n)
	return n, l
}

// weights changes a configuration so that it tells these weights of eu and us.
func weights(cfg *config.Config, eu, us int) {
	cfg.Regions = []config.Region{{Name: "eu", Weight: eu}, {Name: "us", Weight: us}}
}

func wantShares(t *testing.T, n *Node, eu, us int64) {
	t.Helper()
	if a, b := n.ledger.Share("eu", 0, 100), n.ledger.Share("us", 0, 100); a != eu || b != us {
		t.Errorf("%s: shares of 100 are %d and %d, want %d and %d", n.opts.Config.Node, a, b, eu, us)
	}
}

// wantOldSplit checks that a node that was told 9:1 goes on with 1:1 and says so.
func wantOldSplit(t *testing.T, n *Node, l *nodeLog) {
	t.Helper()
	wantShares(t, n, 50, 50)
	lines := l.lines(differ)
	if len(lines) != 1 || !strings.Contains(lines[0], "eu:9 us:1") || !strings.Contains(lines[0], "eu:1 us:1") || len(l.lines(conflict)) != 0 {
		t.Errorf("it says %q, %q", lines, l.lines(conflict))
	}
}

// TestEditedWeightsAreNotUsed where the snapshot knows the split, and until
// nobody does.
func TestEditedWeightsAreNotUsed(t *testing.T) {
	var path string
	n, l := logged(t, "eu", func(cfg *config.Config) { path = cfg.Snapshot })
	wantShares(t, n, 50, 50)
	if lines := l.lines(differ); len(lines) != 0 {
		t.Errorf("it warns %q of what it was told", lines)
	}
	stopNode(t, n)
	edited := func(cfg *config.Config) {
		cfg.Snapshot = path
		weights(cfg, 9, 1)
	}
	n, l = logged(t, "eu", edited)
	wantOldSplit(t, n, l)
	stopNode(t, n)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	n, l = logged(t, "eu", edited)
	wantShares(t, n, 90, 10)
	if lines := l.lines(differ); len(lines) != 0 {
		t.Errorf("it warns %q of what it uses", lines)
	}
}

// TestTheFirstSplitIsOnDiskBeforeItIsUsed: a node that is killed once it was
// ready begins again with it.
func TestTheFirstSplitIsOnDiskBeforeItIsUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	startNode(t, "eu", unsaved(path))
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	killed := filepath.Join(t.TempDir(), "state.db")
	if err := os.WriteFile(killed, file, 0o600); err != nil {
		t.Fatal(err)
	}
	n, l := logged(t, "eu", func(cfg *config.Config) {
		cfg.Snapshot = killed
		weights(cfg, 9, 1)
	})
	wantOldSplit(t, n, l)
}

// TestADamagedSplitIsLeftOut: the node says so and begins with weir.yaml's.
func TestADamagedSplitIsLeftOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	f, err := snapshot.Open(path, quietLog)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.SaveSplits(&wirev1.Splits{Versions: []*wirev1.SplitVersion{{Version: 1}}}), f.Close()); err != nil {
		t.Fatal(err)
	}
	n, l := logged(t, "eu", func(cfg *config.Config) { cfg.Snapshot = path })
	wantShares(t, n, 50, 50)
	if len(l.lines("damaged")) != 1 {
		t.Error("it says nothing")
	}
}

// withoutSnapshot changes a configuration so that the node keeps nothing itself.
func withoutSnapshot(store string, eu, us int) func(*config.Config) {
	return func(cfg *config.Config) {
		cfg.Store, cfg.Snapshot = store, ""
		weights(cfg, eu, us)
	}
}

func redisOf(t *testing.T, server *storetest.Server) *goredis.Client {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: server.Addr, DisableIdentity: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestRedisKeepsTheSplit of a region without snapshots; a server that lost it is
// told anew, and one that holds something else keeps the node from deciding.
func TestRedisKeepsTheSplit(t *testing.T) {
	server := storetest.StartServer(t)
	client := redisOf(t, server)
	n := startNode(t, "eu", withoutSnapshot(server.URL, 1, 1))
	wantShares(t, n, 50, 50)
	stopNode(t, n)
	n, l := logged(t, "eu", withoutSnapshot(server.URL, 9, 1))
	wantOldSplit(t, n, l)
	if err := client.Del(t.Context(), "weir:split").Err(); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "it is kept again", func() bool { return client.Get(t.Context(), "weir:split").Val() == "1 eu=1 us=1\n" })
	n.mesh.Acknowledge(1, crdt.Ack{Region: "eu", After: 7})
	waitUntil(t, "a change is kept", func() bool { return client.Get(t.Context(), "weir:split").Val() == "1 eu=1 us=1\n1 ack eu 7\n" })
	stopNode(t, n)

	if err := client.Set(t.Context(), "weir:split", "1:1", 0).Err(); err != nil {
		t.Fatal(err)
	}
	n = beginNode(t, "eu", withoutSnapshot(server.URL, 9, 1))
	waitUntil(t, "it says what it waits for", func() bool { err := n.NotReady(); return err != nil && strings.Contains(err.Error(), "weir:split") })
	wantShares(t, n, 0, 0)
	if err := client.Set(t.Context(), "weir:split", "1 eu=1 us=3\n", 0).Err(); err != nil {
		t.Fatal(err)
	}
	waitReady(t, n)
	wantShares(t, n, 25, 75)
}

// TestNodesThatBeginTogetherUseOneSplit: of two of a region that were told
// different ones, both use that of the first to come.
func TestNodesThatBeginTogetherUseOneSplit(t *testing.T) {
	server := storetest.StartServer(t)
	a := beginNode(t, "eu", withoutSnapshot(server.URL, 1, 1))
	b := beginNode(t, "eu", func(cfg *config.Config) {
		withoutSnapshot(server.URL, 9, 1)(cfg)
		cfg.Node = "eu-2"
	})
	waitReady(t, a)
	waitReady(t, b)
	if a.mesh.Splits().Digest() != b.mesh.Splits().Digest() || len(b.mesh.Splits().Conflicts()) != 0 {
		t.Errorf("they use %+v and %+v", a.mesh.Splits().All(), b.mesh.Splits().All())
	}
}

// TestPeersKnowTheSplit of a node that kept nothing.
func TestPeersKnowTheSplit(t *testing.T) {
	eu := startNode(t, "eu", withoutSnapshot(config.MemoryStore, 1, 1))
	us := startNode(t, "us", func(cfg *config.Config) {
		withoutSnapshot(config.MemoryStore, 1, 1)(cfg)
		cfg.Gossip.Join = []string{eu.GossipAddr()}
	})
	stopNode(t, eu)
	eu, l := logged(t, "eu", func(cfg *config.Config) {
		withoutSnapshot(config.MemoryStore, 9, 1)(cfg)
		cfg.Gossip.Join = []string{us.GossipAddr()}
	})
	wantOldSplit(t, eu, l)
	wantShares(t, us, 50, 50)
}

// TestDifferentSplitsAreTold: regions that began apart give up part of the total
// once they meet, and say so once.
func TestDifferentSplitsAreTold(t *testing.T) {
	var path string
	apart := startNode(t, "us", func(cfg *config.Config) { weights(cfg, 9, 1); path = cfg.Snapshot })
	eu, euLog := logged(t, "eu", nil)
	stopNode(t, apart)
	us, usLog := logged(t, "us", func(cfg *config.Config) {
		weights(cfg, 9, 1)
		cfg.Snapshot, cfg.Gossip.Join = path, []string{eu.GossipAddr()}
	})
	for n, l := range map[*Node]*nodeLog{eu: euLog, us: usLog} {
		waitUntil(t, "the conflict is told", func() bool { return len(l.lines(conflict)) > 0 })
		wantShares(t, n, 50, 10)
		if got := figure(t, n, "weir_split_conflicts"); got != 1 {
			t.Errorf("weir_split_conflicts is %v", got)
		}
	}
	us.mesh.Acknowledge(1, crdt.Ack{Region: "us", After: 7}) // another change is no other conflict
	waitUntil(t, "the change is heard", func() bool { return eu.mesh.Splits().Acknowledged(1, "us") })
	checkOnce(t, eu, "a")
	if lines := euLog.lines(conflict); len(lines) != 1 || !strings.Contains(lines[0], "eu:1 us:1") || !strings.Contains(lines[0], "eu:9 us:1") {
		t.Errorf("it says %q", lines)
	}
}

func figure(t *testing.T, n *Node, name string) float64 {
	t.Helper()
	families, err := n.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("no figure %s", name)
	return 0
}

// TestARegionWithoutAShareLivesOnGifts: one that is added to weir.yaml is no
// part of the split in force.
func TestARegionWithoutAShareLivesOnGifts(t *testing.T) {
	regions := []config.Region{{Name: "ap", Weight: 1}, {Name: "eu", Weight: 1}, {Name: "us", Weight: 1}}
	seed := startNode(t, "ap", func(cfg *config.Config) { cfg.Regions = regions })
	for _, name := range []string{"eu", "us"} {
		startNode(t, name, func(cfg *config.Config) { cfg.Regions, cfg.Gossip.Join = regions, []string{seed.GossipAddr()} })
	}
	more := slices.Concat(regions, []config.Region{{Name: "za", Weight: 5}})
	za, l := logged(t, "za", func(cfg *config.Config) { cfg.Regions, cfg.Gossip.Join = more, []string{seed.GossipAddr()} })
	if lines := l.lines(differ); len(lines) != 1 || !strings.Contains(lines[0], "za:5") {
		t.Errorf("it says %q", lines)
	}
	if share, elsewhere := za.ledger.Share("za", 0, 100), za.ledger.Share("ap", 0, 100); share != 0 || elsewhere != 34 {
		t.Errorf("shares of 100 are %d and %d", share, elsewhere)
	}
	client := weirv1.NewLimiterServiceClient(dial(t, za))
	reason := ""
	waitUntil(t, "za is given rights", func() bool {
		out, err := client.Check(t.Context(), &weirv1.CheckRequest{Attributes: key("a")})
		if err != nil {
			t.Fatal(err)
		}
		if !out.Allowed {
			reason = fmt.Sprint(out.Reason)
		}
		return out.Allowed
	})
	if reason != weirv1.Reason_REASON_QUOTA_RIGHTS_EXHAUSTED.String() {
		t.Errorf("before, it was denied for %q", reason)
	}
}

// TestTheLedgerFollowsTheSplits that peers tell, while the node runs.
func TestTheLedgerFollowsTheSplits(t *testing.T) {
	n := startNode(t, "eu", nil)
	wantShares(t, n, 50, 50)
	peer := startPeer(t, n.GossipAddr(), 0)
	waitUntil(t, "the peer hears of it", func() bool { return peer.Splits().Len() == 1 })
	next, err := crdt.NewSplit(2, []crdt.Weight{{Region: "eu", Weight: 1}, {Region: "us", Weight: 3}})
	if err != nil {
		t.Fatal(err)
	}
	splits := peer.Splits().Clone()
	splits.Add(next)
	for _, region := range []string{"eu", "us"} {
		splits.Acknowledge(2, crdt.Ack{Region: region, After: -1})
	}
	peer.MergeSplits(&splits)
	waitUntil(t, "it is used", func() bool { return n.ledger.Share("eu", 0, 100) == 25 })
	if err := n.saver.save(t.Context()); err != nil {
		t.Fatal(err)
	}
	saved, err := n.saver.restoreSplits()
	if err != nil || saved.Digest() != splits.Digest() {
		t.Errorf("the snapshot holds %v, %v", gossip.EncodeSplits(saved), err)
	}
}
