package acceptance

import (
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/health" // lets clients heed the health service
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"
)

// dialRegion is one client of several nodes, as a gateway has it: every call
// goes to one that says that it serves.
func dialRegion(t *testing.T, nodes []*node) *client {
	t.Helper()
	var state resolver.State
	for _, n := range nodes {
		state.Addresses = append(state.Addresses, resolver.Address{Addr: n.grpcAddr()})
	}
	region := manual.NewBuilderWithScheme("region")
	region.InitialState(state)
	return dialTarget(t, "region:///", grpc.WithResolvers(region),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}],
			"healthCheckConfig": {"serviceName": "weir.v1.LimiterService"}}`))
}

// startRegion starts one region of two nodes that share a Redis.
func startRegion(t *testing.T) []*node {
	t.Helper()
	store := startRedis(t).url()
	nodes := []*node{
		newNode(t, "eu-west", "eu-west-1", store, clientRules),
		newNode(t, "eu-west", "eu-west-2", store, clientRules),
	}
	introduce(nodes)
	startAll(t, nodes)
	return nodes
}

// Nodes are stopped and started in turn under load: no call fails, at the
// region or at the node that stays, and everything is counted once.
func TestRollingRestart(t *testing.T) {
	awayFromMidnight(t, 2*time.Minute)
	nodes := startRegion(t)
	var balanced []*client
	for range 6 {
		balanced = append(balanced, dialRegion(t, nodes))
	}
	region := startLoad(t, balanced, "region", manyKeys)
	region.waitAnswers(t, 500)
	all := newTally()
	for i, n := range nodes {
		stays := startLoad(t, dialMany(t, nodes[1-i], 2), "stays", manyKeys)
		n.stop(t)
		region.waitAnswers(t, 500)
		stays.waitAnswers(t, 100)
		n.start(t)
		n.waitReady(t)
		region.waitReached(t, n)
		stays.stop()
		if errs := stays.errors(); len(errs) > 0 {
			t.Errorf("%d calls to the node that stays failed, the first with: %v", len(errs), errs[0])
		}
		all = join(all, stays.tally)
	}
	region.stop()
	if errs := region.errors(); len(errs) > 0 {
		t.Errorf("%d calls to the region failed, the first with: %v", len(errs), errs[0])
	}
	counts := settled(t, 10*time.Second, nodes, join(all, region.tally))
	t.Logf("%d calls answered, %d counted", sum(all.acknowledged), sum(counts))
}

// A node that stops answers every call it has begun: what clients of that node
// alone were not answered was not counted either.
func TestStoppingNodeAnswers(t *testing.T) {
	awayFromMidnight(t, time.Minute)
	nodes := startRegion(t)
	pinned := startLoad(t, dialMany(t, nodes[0], 8), "pinned", manyKeys)
	pinned.waitAnswers(t, 500)
	began := time.Now()
	nodes[0].process.signal(t, syscall.SIGTERM)
	pinned.workers.Wait() // each ends with a call that finds no node
	if code := nodes[0].process.wait(t, 10*time.Second); code != 0 {
		t.Errorf("exit code %d", code)
	}
	t.Logf("stopped under load in %d ms", time.Since(began).Milliseconds())
	for _, err := range pinned.errors() {
		if status.Code(err) != codes.Unavailable {
			t.Errorf("a call ended with %v, want UNAVAILABLE", err)
		}
	}
	settled(t, 10*time.Second, nodes[1:], pinned.answered())
}
