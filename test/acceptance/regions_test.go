package acceptance

import (
	"context"
	"fmt"
	"testing"
	"time"
)

var regionNames = []string{"eu-west", "us-east", "ap-south"}

// kinds of stores that a case runs with.
var kinds = []string{"redis", "memory"}

// startRegions starts three regions of one node each, which replicate with each
// other over encrypted gossip; in redis, each with a server of its own.
func startRegions(t *testing.T, kind, rules string) (nodes []*node, servers []*redisServer) {
	t.Helper()
	keyring := newKeyring(t)
	for _, region := range regionNames {
		store := kind
		if kind == "redis" {
			server := startRedis(t)
			servers = append(servers, server)
			store = server.url()
		}
		n := newNode(t, region, region+"-1", store, rules)
		n.regions, n.keyring, n.snapshot = regionNames, keyring, true
		nodes = append(nodes, n)
	}
	introduce(nodes)
	startAll(t, nodes)
	return nodes, servers
}

// introduce tells every node of all others.
func introduce(nodes []*node) {
	for _, n := range nodes {
		for _, other := range nodes {
			if other != n {
				n.join = append(n.join, other.gossipAddr())
			}
		}
	}
}

// startAll starts nodes together, as they wait for each other.
func startAll(t *testing.T, nodes []*node) {
	t.Helper()
	for _, n := range nodes {
		n.start(t)
	}
	for _, n := range nodes {
		n.waitReady(t)
	}
}

// end ends what would else run until the test is over.
func end(nodes []*node, servers []*redisServer) {
	for _, n := range nodes {
		n.process.kill()
	}
	for _, r := range servers {
		r.kill()
	}
}

// agree waits until every node reports exactly these counts, and no others.
func agree(t *testing.T, nodes []*node, want map[string]int64) {
	t.Helper()
	began := time.Now()
	for _, n := range nodes {
		c := dial(t, n)
		eventually(t, 10*time.Second, n.name+" reports every count", func(ctx context.Context) error {
			got, err := c.counts(ctx)
			if err != nil {
				return err
			}
			return differences(got, want)
		})
	}
	t.Logf("%d nodes agree on %d keys, %d ms later", len(nodes), len(want), time.Since(began).Milliseconds())
}

// settled waits until all nodes report the same counts, within the bounds of
// what clients know, and returns them.
func settled(t *testing.T, within time.Duration, nodes []*node, known *tally) (counts map[string]int64) {
	t.Helper()
	clients := make([]*client, len(nodes))
	for i, n := range nodes {
		clients[i] = dial(t, n)
	}
	eventually(t, within, "all nodes report the same, within what clients know", func(ctx context.Context) error {
		counts = nil
		for i, n := range nodes {
			got, err := clients[i].counts(ctx)
			if err != nil {
				return err
			}
			if err := known.explains(got); err != nil {
				return fmt.Errorf("%s: %w", n.name, err)
			}
			if counts == nil {
				counts = got
			}
			if err := differences(got, counts); err != nil {
				return fmt.Errorf("%s and %s: %w", n.name, nodes[0].name, err)
			}
		}
		return nil
	})
	return counts
}
