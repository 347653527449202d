package region

import (
	"context"
	"time"
)

// waits are how long a node waits for others before it goes on without them.
type waits struct {
	// sync is how long it waits for its peers' rows while nothing comes.
	sync time.Duration
	// appear is how long a node that joins nobody waits for others to join it;
	// restarted, the same when it has counted before. Others look for a member
	// they lost every second.
	appear, restarted time.Duration
	rivalry           rivalry
}

func defaultWaits() waits {
	return waits{sync: 5 * time.Second, appear: 700 * time.Millisecond, restarted: 2 * time.Second,
		rivalry: rivalry{yield: rivalYield, meet: rivalMeet}}
}

// syncLook is how often a node that waits for peers' rows looks for progress.
const syncLook = 50 * time.Millisecond

// waitForPeers returns once a peer has told all its rows, or nothing came for so
// long that the node serves without: one that is alone must serve too.
func (n *Node) waitForPeers(ctx context.Context) bool {
	n.waitingFor("waiting for the first peer's rows")
	look := time.NewTicker(syncLook)
	defer look.Stop()
	began := time.Now()
	quiet := silence{since: began}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-n.mesh.FirstSync():
			n.restoredFromNow("peers")
			return true
		case <-look.C:
		}
		heard := n.syncProgress()
		if quiet.lasts(heard, time.Now()) >= n.peerPatience(heard) {
			n.logWithoutPeers(heard, time.Since(began))
			return true
		}
	}
}

// progress is what grows while peers tell their rows.
type progress struct {
	peers int
	rows  uint64
}

func (n *Node) syncProgress() progress {
	s := n.mesh.Stats()
	return progress{peers: s.Peers, rows: s.RowsReceived}
}

// silence is the time in which nothing came.
type silence struct {
	heard progress
	since time.Time
}

// lasts says for how long nothing has come, given what has by now.
func (s *silence) lasts(heard progress, now time.Time) time.Duration {
	if heard != s.heard {
		s.heard, s.since = heard, now
	}
	return now.Sub(s.since)
}

// peerPatience is how long a node waits while nothing comes, given what came.
func (n *Node) peerPatience(heard progress) time.Duration {
	cfg := n.opts.Config
	switch {
	case heard.peers > 0 || len(cfg.Gossip.Join) > 0:
		return n.opts.waits.sync
	case len(cfg.Regions) <= 1:
		return 0 // what other nodes of the region know is in its store
	case n.restoredFrom()[0] != "nothing":
		return n.opts.waits.restarted
	}
	return n.opts.waits.appear
}

func (n *Node) logWithoutPeers(heard progress, waited time.Duration) {
	switch {
	case heard.peers > 0:
		n.log.Warn("no peer has told all its rows; serving with what is known here",
			"peers", heard.peers, "rows_received", heard.rows, "waited", waited)
	case len(n.opts.Config.Gossip.Join) > 0:
		n.log.Warn("no address of gossip.join led to a peer; serving with what is known here", "waited", waited)
	default:
		n.log.Info("no peer has joined; serving with what is known here", "waited", waited)
	}
}
