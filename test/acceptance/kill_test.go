package acceptance

import (
	"context"
	"fmt"
	"testing"
	"time"
)

const clientRules = `
rules:
  - name: calls
    count_by: [client]
    quota: 1000000000000/day
`

// manyKeys is so many that most keys are counted now and then only: nothing
// that comes later tells what was missed.
const manyKeys = 2000

// rounds is how often a fault is repeated.
func rounds() int {
	if testing.Short() {
		return 1
	}
	return 5
}

// loadOn is clients of every node, more of them on the first; keys of each node
// are its own.
func loadOn(t *testing.T, nodes []*node) (victim, others *load) {
	t.Helper()
	victim = startLoad(t, dialMany(t, nodes[0], 6), nodes[0].name, manyKeys)
	var rest []*client
	for _, n := range nodes[1:] {
		rest = append(rest, dial(t, n))
	}
	return victim, startLoad(t, rest, "others", manyKeys)
}

// together is what several loads know.
func together(loads ...*load) *tally {
	all := newTally()
	for _, l := range loads {
		l.mu.Lock()
		for key, n := range l.acknowledged {
			all.acknowledged[key] += n
		}
		for key, n := range l.unsettled {
			all.unsettled[key] += n
		}
		l.mu.Unlock()
	}
	return all
}

// killUnderLoad kills a node while clients call it, and waits for them.
func killUnderLoad(t *testing.T, n *node, victim, others *load) (killed time.Time) {
	t.Helper()
	began := time.Now()
	victim.waitAnswers(t, 1000)
	pause(t, time.Until(began.Add(3*time.Second))) // a snapshot and more
	killed = time.Now()
	n.process.kill()
	victim.workers.Wait() // each ends with the call that fails
	others.waitAnswers(t, 100)
	others.stop()
	if errs := others.errors(); len(errs) > 0 {
		t.Fatalf("%d calls to other nodes failed, the first with: %v", len(errs), errs[0])
	}
	if got, most := len(victim.errors()), 6; got != most {
		t.Fatalf("%d calls were under way at the kill, want %d, one for each client: %v", got, most, victim.errors())
	}
	acknowledged, unsettled := victim.total()
	t.Logf("%d calls acknowledged by %s, %d in flight at the kill", acknowledged, n.name, unsettled)
	return killed
}

// What a killed node acknowledged is counted in every region once it is back,
// and no more than that and the calls in flight.
func TestKillNode(t *testing.T) {
	awayFromMidnight(t, 3*time.Minute)
	nodes, _ := startRegions(t, "redis", clientRules)
	known := newTally()
	for range rounds() {
		victim, others := loadOn(t, nodes)
		killUnderLoad(t, nodes[0], victim, others)
		known = join(known, together(victim, others))
		nodes[0].start(t)
		nodes[0].waitReady(t)
		counts := settled(t, 10*time.Second, nodes, known)
		t.Logf("%d counted in every region", sum(counts))
		known = restarted(counts)
	}
}

// join is what two tallies know.
func join(a, b *tally) *tally {
	for key, n := range b.acknowledged {
		a.acknowledged[key] += n
	}
	for key, n := range b.unsettled {
		a.unsettled[key] += n
	}
	return a
}

// restarted is a tally that takes counts for settled.
func restarted(counts map[string]int64) *tally {
	out := newTally()
	for key, n := range counts {
		out.acknowledged[key] = n
	}
	return out
}

// A node of two that share a Redis is killed and never comes back: what it had
// counted and not told is found in the store by the other.
func TestKillNodeForGood(t *testing.T) {
	awayFromMidnight(t, 3*time.Minute)
	server := startRedis(t)
	elsewhere := startRedis(t)
	keyring := newKeyring(t)
	nodes := []*node{
		newNode(t, "eu-west", "eu-west-1", server.url(), clientRules),
		newNode(t, "eu-west", "eu-west-2", server.url(), clientRules),
		newNode(t, "us-east", "us-east-1", elsewhere.url(), clientRules),
	}
	for _, n := range nodes {
		n.regions, n.keyring = regionNames[:2], keyring
	}
	introduce(nodes)
	startAll(t, nodes)
	victim, others := loadOn(t, nodes)
	killUnderLoad(t, nodes[0], victim, others)
	began := time.Now()
	counts := settled(t, 30*time.Second, nodes[1:], together(victim, others))
	t.Logf("%d counted in every region, %.1f s after the kill", sum(counts), time.Since(began).Seconds())
}

// With embedded stores, what a killed node acknowledged two seconds before is
// there when it is back: told by its peers.
func TestKillEmbeddedNode(t *testing.T) {
	awayFromMidnight(t, 3*time.Minute)
	nodes, _ := startRegions(t, "memory", clientRules)
	victim, others := loadOn(t, nodes)
	killed := killUnderLoad(t, nodes[0], victim, others)
	least := together(others)
	least.acknowledged = union(least.acknowledged, victim.before(killed.Add(-forgettable)))
	most := together(victim, others)
	nodes[0].start(t)
	nodes[0].waitReady(t)
	counts := settled(t, 10*time.Second, nodes, within(least, most))
	acknowledged, _ := most.total()
	t.Logf("%d of %d acknowledged are counted in every region", sum(counts), acknowledged)
}

// forgettable is what a node with an embedded store may forget when it is
// killed: one snapshot interval, and the time to write it and to tell peers.
const forgettable = 2 * time.Second

func union(a, b map[string]int64) map[string]int64 {
	out := make(map[string]int64, len(a)+len(b))
	for key, n := range a {
		out[key] += n
	}
	for key, n := range b {
		out[key] += n
	}
	return out
}

// within is a tally that is sure of no more than one and explains as much as
// another.
func within(least, most *tally) *tally {
	out := newTally()
	out.acknowledged = least.acknowledged
	for key, n := range union(most.acknowledged, most.unsettled) {
		out.unsettled[key] = n - least.acknowledged[key]
	}
	return out
}

// The same alone: from its snapshot.
func TestKillEmbeddedNodeAlone(t *testing.T) {
	awayFromMidnight(t, 3*time.Minute)
	n := newNode(t, "eu-west", "eu-west-1", "memory", clientRules)
	n.snapshot = true
	n.start(t)
	n.waitReady(t)
	for range rounds() {
		before, err := dial(t, n).counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		victim, none := loadOn(t, []*node{n})
		killed := killAlone(t, n, victim, none)
		least, most := restarted(before), join(restarted(before), together(victim))
		least.acknowledged = union(before, victim.before(killed.Add(-forgettable)))
		n.start(t)
		n.waitReady(t)
		counts := settled(t, time.Second, []*node{n}, within(least, most))
		t.Logf("%d counted; %d acknowledged %v before the kill, %d in all", sum(counts),
			sum(least.acknowledged), forgettable, sum(most.acknowledged))
	}
}

func killAlone(t *testing.T, n *node, victim, none *load) time.Time {
	t.Helper()
	none.stop()
	began := time.Now()
	eventually(t, 20*time.Second, "the node has counted for 4 s", func(context.Context) error {
		if acknowledged, _ := victim.total(); acknowledged < 1000 || time.Since(began) < 4*time.Second {
			return fmt.Errorf("%d in %v", acknowledged, time.Since(began))
		}
		return nil
	})
	killed := time.Now()
	n.process.kill()
	victim.workers.Wait()
	return killed
}
