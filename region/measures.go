package region

import (
	"context"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"weir/gossip"
	"weir/limiter/store/redis"
	"weir/region/api"
	"weir/region/snapshot"
	"weir/region/telemetry"
)

// measure registers the node's figures. Decisions and Redis register their own.
func (n *Node) measure(context.Context) error {
	n.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	telemetry.Register(n.registry, n.nodeFigures()...)
	telemetry.Register(n.registry, n.gossipFigures()...)
	telemetry.Register(n.registry, n.repairFigures()...)
	telemetry.Register(n.registry, n.rightsFigures()...)
	if s, is := n.store.(*redis.Store); is {
		telemetry.Register(n.registry, unresolvedFigures(s)...)
	}
	for i, name := range n.opts.Config.RegionNames() {
		telemetry.Register(n.registry, telemetry.Figure{
			Name:   "weir_region_staleness_seconds",
			Help:   "Age of the newest state heard from the region, directly or through others; +Inf when never heard.",
			Labels: prometheus.Labels{"region": name},
			Read:   func() float64 { return staleness(n.regions.Regions()[i]) },
		})
	}
	if n.saver != nil {
		telemetry.Register(n.registry, n.snapshotFigures()...)
	}
	return nil
}

func staleness(r api.RegionState) float64 {
	if !r.Known && !r.Here {
		return math.Inf(1)
	}
	return r.Age.Seconds()
}

func (n *Node) nodeFigures() []telemetry.Figure {
	return []telemetry.Figure{
		{Name: "weir_ready", Help: "1 while the node may be sent checks.", Read: func() float64 {
			if n.NotReady() != nil {
				return 0
			}
			return 1
		}},
		{Name: "weir_checks_refused_total", Help: "Checks turned away because the node was full (limits.concurrent_checks).",
			Counter: true, Read: func() float64 { return float64(n.gate.Refused()) }},
		{Name: "weir_store_full_total", Help: "Limits that met a store holding as many keys as it may: buckets let through uncounted, quotas denied.",
			Counter: true, Read: func() float64 { return float64(n.engine.Full()) }},
	}
}

// gossipFigures read one copy of the mesh's counters each; a scrape reads them
// once a figure, which is cheap.
func (n *Node) gossipFigures() []telemetry.Figure {
	figure := func(name, help string, counter bool, read func(gossip.Stats) float64) telemetry.Figure {
		return telemetry.Figure{Name: "weir_gossip_" + name, Help: help, Counter: counter,
			Read: func() float64 { return read(n.mesh.Stats()) }}
	}
	return []telemetry.Figure{
		figure("peers", "Nodes this node replicates with.", false, func(s gossip.Stats) float64 { return float64(s.Peers) }),
		figure("rows", "Quota rows held.", false, func(s gossip.Stats) float64 { return float64(s.Rows) }),
		figure("rows_unsaved", "Quota rows changed since the last snapshot.", false, func(s gossip.Stats) float64 { return float64(s.RowsUnsaved) }),
		figure("rows_untold", "Quota rows changed and not sent to any peer yet.", false, func(s gossip.Stats) float64 { return float64(s.RowsUntold) }),
		figure("frames_sent_total", "Frames sent to peers.", true, func(s gossip.Stats) float64 { return float64(s.FramesSent) }),
		figure("frames_received_total", "Frames received from peers.", true, func(s gossip.Stats) float64 { return float64(s.FramesReceived) }),
		figure("rows_sent_total", "Rows sent to peers, a row counted with each frame it was in.", true, func(s gossip.Stats) float64 { return float64(s.RowsSent) }),
		figure("rows_received_total", "Rows received from peers.", true, func(s gossip.Stats) float64 { return float64(s.RowsReceived) }),
		figure("sent_bytes_total", "Bytes of frames sent, before encryption.", true, func(s gossip.Stats) float64 { return float64(s.BytesSent) }),
		figure("received_bytes_total", "Bytes of frames received, after decryption.", true, func(s gossip.Stats) float64 { return float64(s.BytesReceived) }),
		figure("entries_new_total", "Entries received that were new here.", true, func(s gossip.Stats) float64 { return float64(s.EntriesNew) }),
		figure("gaps_total", "Times that frames of a peer were missing.", true, func(s gossip.Stats) float64 { return float64(s.Gaps) }),
		figure("sessions_total", "Sessions begun with a peer, to find what the two have not in common.", true, func(s gossip.Stats) float64 { return float64(s.Asks) }),
		figure("session_timeouts_total", "Sessions that stood still; they are begun anew.", true, func(s gossip.Stats) float64 { return float64(s.AskTimeouts) }),
		figure("malformed_total", "Frames that did not decode, or bore a wrong sender; they had no effect.", true, func(s gossip.Stats) float64 { return float64(s.MalformedFrames + s.ForeignFrames) }),
		figure("strangers_total", "Packets and streams refused for their key or label.", true, func(s gossip.Stats) float64 { return float64(s.Strangers) }),
		figure("name_conflicts_total", "Messages of a second node with a member's name.", true, func(s gossip.Stats) float64 { return float64(s.Conflicts) }),
		figure("inbox_drops_total", "Frames dropped because the queue of received frames was full; the rows are asked for again.", true, func(s gossip.Stats) float64 { return float64(s.InboxDrops) }),
		figure("outbox_drops_total", "Frames dropped because the queue to a peer was full; the peer asks for the rows.", true, func(s gossip.Stats) float64 { return float64(s.OutboxDrops) }),
		figure("undelivered_total", "Frames known not to have reached their peer, dropped ones included; it is told again.", true, func(s gossip.Stats) float64 { return float64(s.Undelivered) }),
		figure("rows_told_again_total", "Rows sent to another node of a region because one may have missed them.", true, func(s gossip.Stats) float64 { return float64(s.RowsToldAgain) }),
		figure("send_errors_total", "Frames that could not be sent.", true, func(s gossip.Stats) float64 { return float64(s.SendErrors) }),
		figure("refused_peers_total", "Times that a member was past the bound on peers, and is not replicated with.", true, func(s gossip.Stats) float64 { return float64(s.RefusedPeers) }),
		figure("log_lines_suppressed_total", "Lines that the membership protocol logged and that were too many.", true, func(s gossip.Stats) float64 { return float64(s.LogLinesSuppressed) }),
		figure("refused_rows_total", "Rows refused: ended or too far ahead, past a bound, or with numbers that break the rules.", true, refusedRows),
	}
}

func refusedRows(s gossip.Stats) float64 {
	return float64(s.RefusedEnded + s.RefusedFuture + s.RefusedFull + s.RefusedReplicas + s.RefusedRegions + s.RefusedInvalid)
}

func (n *Node) snapshotFigures() []telemetry.Figure {
	figure := func(name, help string, counter bool, read func(snapshot.Stats) float64) telemetry.Figure {
		return telemetry.Figure{Name: "weir_snapshot_" + name, Help: help, Counter: counter,
			Read: func() float64 { return read(n.saver.Stats()) }}
	}
	return []telemetry.Figure{
		figure("size_bytes", "Size of the snapshot file.", false, func(s snapshot.Stats) float64 { return float64(s.SizeBytes) }),
		figure("rows_saved_total", "Rows written to the snapshot.", true, func(s snapshot.Stats) float64 { return float64(s.RowsSaved) }),
		figure("rows_skipped_total", "Damaged rows left out when the snapshot was loaded.", true, func(s snapshot.Stats) float64 { return float64(s.RowsSkipped) }),
		figure("failures_total", "Writes to the snapshot that failed.", true, func(s snapshot.Stats) float64 { return float64(s.Failures) }),
		figure("age_seconds", "Time since the last successful write; the start of the node before the first.", false,
			func(s snapshot.Stats) float64 { return n.snapshotAge(s).Seconds() }),
	}
}

func (n *Node) snapshotAge(s snapshot.Stats) time.Duration {
	if s.LastSave.After(n.started) {
		return time.Since(s.LastSave)
	}
	return time.Since(n.started)
}
