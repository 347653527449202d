package chaos

import (
	"context"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// course is a run of the nemesis.
type course struct {
	world   *world
	monitor *monitor
	seed    uint64
	began   time.Time
	steps   []*step
	shown   map[counted]int64  // by every node when all agreed last
	sums    map[string]account // of regions, at the same moment
}

func TestRegionsUnderFaults(t *testing.T) {
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	seed := seed(t)
	t.Logf("SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	w := openWorld(ctx, t)
	c := &course{world: w, monitor: newMonitor(w), seed: seed, began: time.Now()}
	c.animate(ctx, t)
	t.Cleanup(func() { c.publish(t) })

	faults := append([]*fault{none()}, schedule(w, random, testing.Short())...)
	if !testing.Short() {
		faults = append(faults, none())
	}
	for i, f := range faults {
		must(t, c.overMidnight(ctx, t))
		s := c.step(ctx, i, f)
		c.steps = append(c.steps, s)
		t.Logf("%d %s, %s: lasted %v, cut off shown after %v, mended in %v, in touch after %v, equal after %v, exact after %v",
			i, f.name, f.where, s.held, s.cutOff, s.mended, s.touch, s.equal, s.exact)
		for _, p := range s.problems {
			t.Errorf("step %d, %s, %s: %s", i, f.name, f.where, p)
		}
		if t.Failed() {
			c.showLogs(t)
			return // what comes after would only repeat it
		}
	}
}

// none is a step without a fault, in which nodes may not lag either.
func none() *fault {
	nothing := func(context.Context) error { return nil }
	return &fault{name: "none", where: "–", calm: true, hold: settleTime + 3*time.Second, inject: nothing, mend: nothing}
}

// seed is what SEED says, or chance.
func seed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("SEED")
	if text == "" {
		return rand.Uint64N(1_000_000)
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("SEED: %q: must be a whole number", text)
	}
	return n
}

// animate starts clients and monitor; they end before the processes do.
func (c *course) animate(ctx context.Context, t *testing.T) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { c.world.load.run(ctx, c.seed) })
	running.Go(func() { c.monitor.run(ctx) })
	for _, r := range c.world.regions {
		running.Go(func() { r.redis.pulse.run(ctx, r.redis) })
	}
	t.Cleanup(func() { cancel(); running.Wait() })
}

// publish writes the report.
func (c *course) publish(t *testing.T) {
	path := reportPath()
	if err := os.WriteFile(path, []byte(c.report()), 0o644); err != nil {
		t.Error(err)
		return
	}
	t.Logf("report: %s", path)
}

// showLogs shows how the nodes' logs end.
func (c *course) showLogs(t *testing.T) {
	for _, n := range c.world.nodes() {
		t.Logf("--- %s\n%s", n.name, n.tail())
	}
}

// stepBudget is more than a step takes.
const stepBudget = 90 * time.Second

// overMidnight lets a quota's day end between two steps rather than within
// one: it waits, at most stepBudget, and begins a new ledger.
func (c *course) overMidnight(ctx context.Context, t *testing.T) error {
	const day = 24 * time.Hour
	left := time.Until(time.Now().Truncate(day).Add(day))
	if left > stepBudget {
		return nil
	}
	t.Logf("the quotas' day ends in %v; counting begins anew then", left)
	c.world.load.pause()
	defer c.world.load.resume()
	if err := last(ctx, left+time.Second); err != nil {
		return err
	}
	c.world.ledger, c.world.load.usedUp = newLedger(), nil
	c.monitor.forget()
	return nil
}
