package region

import (
	"fmt"
	"testing"
	"time"

	"weir/crdt"
	"weir/gossip"
	"weir/region/config"
)

// startPeer starts a mesh of region us that joins there, if anywhere, and knows rows of
// today's period, each with one unit taken.
func startPeer(t *testing.T, join string, rows int) *gossip.Mesh {
	t.Helper()
	var joins []string
	if join != "" {
		joins = []string{join}
	}
	m, err := gossip.Open(gossip.Config{
		Node: "us-peer", Region: "us", Regions: []string{"eu", "us"}, Store: config.MemoryStore, MaxRows: 1_000_000,
		BindAddr: "127.0.0.1", Join: joins, Logger: quietLog,
		Saved: func(add func(*crdt.Row)) error {
			for i := range rows {
				row := crdt.NewRow(peerRow(fmt.Sprintf("peer-%06d", i)))
				row.Merge(oneTaken)
				add(row)
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

var oneTaken = crdt.Entry{Replica: crdt.Replica{Region: "us", Nonce: 7}, Version: 1, Taken: 1}

func peerRow(k string) crdt.RowName {
	start := time.Now().UTC().Truncate(24 * time.Hour).Unix()
	return crdt.RowName{Rule: "daily", Key: k, Start: start, End: start + 86_400}
}

// A wait ends when nothing came for so long, however long it has been.
func TestSilenceEndsWithEveryRow(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	quiet := silence{since: at(0)}
	for _, step := range []struct {
		now   int
		heard progress
		want  time.Duration
	}{
		{4, progress{}, 4 * time.Second},
		{5, progress{peers: 1}, 0},
		{9, progress{peers: 1}, 4 * time.Second},
		{10, progress{peers: 1, rows: 100}, 0},
		{14, progress{peers: 1, rows: 200}, 0},
		{19, progress{peers: 1, rows: 200}, 5 * time.Second},
	} {
		if got := quiet.lasts(step.heard, at(step.now)); got != step.want {
			t.Errorf("at %d s: %v, want %v", step.now, got, step.want)
		}
	}
}

// A node is ready with all its peer's rows.
func TestComingRowsAreWaitedFor(t *testing.T) {
	const rows = 100_000
	peer := startPeer(t, "", rows)
	n := startNode(t, "eu", func(cfg *config.Config) {
		cfg.Gossip.Join, cfg.Snapshot = []string{peer.Addr()}, ""
	})
	if held := n.mesh.Stats().Rows; held != rows || n.restoredFrom()[0] != "peers" {
		t.Errorf("ready with %d rows from %v", held, n.restoredFrom())
	}
}

// A seed joins nobody; started again it waits for those that join it.
func TestARestartedSeedHearsItsPeers(t *testing.T) {
	addr := freeAddr(t)
	var path string
	seed := func() *Node {
		n := beginPatientNode(t, "eu", defaultWaits(), func(cfg *config.Config) {
			if path == "" {
				path = cfg.Snapshot
			}
			cfg.Listen.Gossip, cfg.Snapshot = addr, path
		})
		waitReady(t, n)
		return n
	}
	n := seed()
	checkOnce(t, n, "a")
	peer := startPeer(t, addr, 0)
	waitUntil(t, "they meet", func() bool { return n.mesh.Stats().Peers == 1 && peer.Stats().Peers == 1 })
	stopNode(t, n)
	peer.Record(peerRow("meanwhile"), oneTaken)
	if got := used(t, seed(), "meanwhile"); got != 1 {
		t.Errorf("ready without what the peer counted meanwhile: %d used", got)
	}
}

func TestALoneNodeIsReadySoon(t *testing.T) {
	began := time.Now()
	waitReady(t, beginPatientNode(t, "eu", defaultWaits(), nil))
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}
