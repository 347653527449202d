package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// course is a run of the nemesis.
type course struct {
	world   *world
	monitor *monitor
	seeds   []uint64
	began   time.Time
	steps   []*step
	shown   map[counted]int64  // by every node when all agreed last
	sums    map[string]account // of regions, at the same moment
}

func TestRegionsUnderFaults(t *testing.T) {
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	seeds := seeds(t)
	t.Logf("seeds %v: -seed=N replays the faults of one", seeds)
	w := openWorld(ctx, t)
	c := &course{world: w, monitor: newMonitor(w), seeds: seeds, began: w.timeline.began}
	c.animate(ctx, t)
	t.Cleanup(func() { c.publish(t) })
	wanted, err := regexp.Compile(*only)
	must(t, err)
	next := c.faults(wanted)
	for i := 0; ; i++ {
		f := next()
		last := time.Since(c.began) > runTime()
		if last && testing.Short() {
			return
		}
		if last {
			f = none()
		}
		if !c.run(ctx, t, i, f) || last || ctx.Err() != nil {
			return
		}
	}
}

// faults draws them from every seed in turn, a step without one first.
func (c *course) faults(wanted *regexp.Regexp) func() *fault {
	draws := make([]func() *fault, len(c.seeds))
	for i, seed := range c.seeds {
		draws[i] = schedule(c.world, rand.New(rand.NewPCG(seed, 0)), wanted)
	}
	turn := -1
	return func() *fault {
		turn++
		if turn == 0 {
			return none()
		}
		i := (turn - 1) % len(draws)
		f := draws[i]()
		f.seed = c.seeds[i]
		return f
	}
}

// run takes a step and tells of it. False is that the nodes no longer come to
// the same: what comes after would only repeat it.
func (c *course) run(ctx context.Context, t *testing.T, i int, f *fault) bool {
	s := c.step(ctx, i, f)
	c.steps = append(c.steps, s)
	t.Logf("%d %s, %s: lasted %v, cut off shown after %v, mended in %v, in touch after %v, equal after %v, exact after %v",
		i, f.name, f.where, s.held, s.cutOff, s.mended, s.touch, s.equal, s.exact)
	for _, p := range s.problems {
		t.Errorf("step %d, seed %d, %s, %s: %s", i, f.seed, f.name, f.where, p)
	}
	if len(s.problems) > 0 {
		c.keepLogs(t, i)
	}
	return !s.broken
}

// animate starts clients and monitor; they end before the processes do.
func (c *course) animate(ctx context.Context, t *testing.T) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { c.world.load.run(ctx, c.seeds[0]) })
	running.Go(func() { c.monitor.run(ctx) })
	for _, r := range c.world.regions {
		running.Go(func() { r.store.pulse.run(ctx, r.store) })
	}
	t.Cleanup(func() { cancel(); running.Wait() })
}

// publish writes the report and the picture beside it.
func (c *course) publish(t *testing.T) {
	path := reportPath()
	picture := strings.TrimSuffix(path, ".md") + ".svg"
	if err := errors.Join(os.WriteFile(path, []byte(c.report(filepath.Base(picture))), 0o644), os.WriteFile(picture, []byte(c.picture()), 0o644)); err != nil {
		t.Error(err)
		return
	}
	t.Logf("report: %s and %s", path, picture)
}

// keepLogs copies the logs of all processes beside the report.
func (c *course) keepLogs(t *testing.T, step int) {
	dir := fmt.Sprintf("%s-step-%d-logs", strings.TrimSuffix(reportPath(), ".md"), step)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Error(err)
		return
	}
	for _, p := range c.world.processes() {
		data, err := os.ReadFile(p.log)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(p.log)), data, 0o644)
		}
		if err != nil {
			t.Error(err)
		}
	}
	t.Logf("logs until step %d: %s", step, dir)
}
