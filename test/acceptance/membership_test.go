package acceptance

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A store in memory is for a region of one node: a second is refused for as
// long as the first is there.
func TestSecondMemoryNode(t *testing.T) {
	first := newNode(t, "eu-west", "eu-west-1", "memory", clientRules)
	first.start(t)
	first.waitReady(t)
	for _, store := range []string{"memory", startRedis(t).url()} {
		second := newNode(t, "eu-west", "eu-west-2", store, clientRules)
		second.join = []string{first.gossipAddr()}
		second.start(t)
		code := second.process.wait(t, 15*time.Second)
		said := second.process.stderr.String()
		const why = "a store in memory is for a region of one node"
		if code != 1 || !strings.Contains(said, why) || !strings.Contains(said, first.name) {
			t.Errorf("with store %s: exit code %d, said:\n%swant 1 and the reason", store, code, said)
		}
		if out := dial(t, first).check(t, 1, map[string]string{"client": "a"}); !out.Allowed {
			t.Errorf("the first node denies: %v", out)
		}
	}
	first.stop(t)
	second := newNode(t, "eu-west", "eu-west-2", "memory", clientRules)
	second.join = []string{first.gossipAddr()}
	second.start(t)
	second.waitReady(t)
}

// Nodes of other keys, or of none, are not let in and learn nothing.
func TestWrongKey(t *testing.T) {
	awayFromMidnight(t, time.Minute)
	keyring := newKeyring(t)
	var nodes []*node
	for _, region := range regionNames[:2] {
		n := newNode(t, region, region+"-1", "memory", clientRules)
		n.regions, n.keyring = regionNames, keyring
		nodes = append(nodes, n)
	}
	introduce(nodes)
	startAll(t, nodes)
	strangers := map[string]string{"another key": newKeyring(t), "in the clear": ""}
	for name, ring := range strangers {
		t.Run(name, func(t *testing.T) {
			stranger := newNode(t, "ap-south", "ap-south-"+filepath.Base(t.TempDir()), "memory", clientRules)
			stranger.name = "stranger"
			stranger.regions, stranger.keyring = regionNames, ring
			stranger.join = []string{nodes[0].gossipAddr(), nodes[1].gossipAddr()}
			stranger.start(t)
			stranger.waitReady(t) // alone
			strangerStaysOut(t, nodes, stranger, "after "+name)
		})
	}
}

// strangerStaysOut counts on both sides: each node hears of what the other
// counted before and after the stranger, and nothing of the stranger's.
func strangerStaysOut(t *testing.T, nodes []*node, stranger *node, mark string) {
	t.Helper()
	dial(t, stranger).check(t, 1, map[string]string{"client": "stranger"})
	dial(t, nodes[0]).check(t, 1, map[string]string{"client": mark})
	c := dial(t, nodes[1])
	eventually(t, 5*time.Second, "news goes round", func(ctx context.Context) error {
		got, err := c.counts(ctx)
		if err == nil && got[mark] != 1 {
			err = fmt.Errorf("%v", got)
		}
		return err
	})
	for _, n := range nodes {
		if got, err := dial(t, n).counts(t.Context()); err != nil || got["stranger"] != 0 {
			t.Errorf("%s counts %v (%v)", n.name, got, err)
		}
		if peers := metric(t, n, "weir_gossip_peers"); peers != "1" {
			t.Errorf("%s has %s peers, want 1", n.name, peers)
		}
	}
	if got, err := dial(t, stranger).counts(t.Context()); err != nil || len(got) != 1 {
		t.Errorf("the stranger knows %v (%v)", got, err)
	}
	if peers := metric(t, stranger, "weir_gossip_peers"); peers != "0" {
		t.Errorf("the stranger has %s peers, want none", peers)
	}
	if said := stranger.process.stderr.String(); !strings.Contains(said, "level=WARN") {
		t.Errorf("the stranger says nothing of it:\n%s", said)
	}
}
