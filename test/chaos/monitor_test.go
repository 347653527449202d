package chaos

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// monitor looks at all nodes all the time and tells of what may not be even
// while faults last: units taken that become fewer at a node that did not
// restart. While nothing is broken, it also tells of nodes that lag.
type monitor struct {
	world *world
	calm  atomic.Int64 // since when nothing is broken, Unix nanoseconds; 0 is not

	mu       sync.Mutex
	problems []string
	lag      time.Duration // longest found while calm
	looks    int

	last   map[*node]view
	floors []floor // of the last seconds, oldest first
}

// floor is what regions showed of themselves at an instant.
type floor struct {
	at    time.Time
	parts map[counted]int64
}

const (
	monitorInterval = 200 * time.Millisecond
	// settleTime is how long after a fault the nodes may still differ.
	settleTime = 5 * time.Second
	// maxLag is how far nodes may lag while nothing is broken: a tick, the way,
	// and a busy machine.
	maxLag = 3 * time.Second
)

func newMonitor(w *world) *monitor { return &monitor{world: w, last: map[*node]view{}} }

// run looks until the context ends.
func (m *monitor) run(ctx context.Context) {
	tick := time.NewTicker(monitorInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		views := m.world.look(ctx)
		if ctx.Err() != nil {
			return
		}
		m.mu.Lock()
		m.looks++
		m.world.timeline.look(views)
		m.checkGrowth(views)
		m.checkLag(views)
		m.mu.Unlock()
	}
}

// checkGrowth holds each node's view against its last one of the same life.
func (m *monitor) checkGrowth(views []view) {
	for _, v := range views {
		if v.err != nil || v.life != v.node.life.Load() {
			continue // killed, frozen or restarted meanwhile
		}
		if last, ok := m.last[v.node]; ok && last.life == v.life {
			for c, n := range last.taken {
				if v.taken[c] < n && !c.ended(v.asked) {
					m.problem("%s showed %v as %d taken, then %d", v.node.name, c, n, v.taken[c])
				}
			}
		}
		m.last[v.node] = v
	}
}

// checkLag measures how old the newest state is that all nodes show.
func (m *monitor) checkLag(views []view) {
	calm := m.calm.Load()
	if calm == 0 || time.Since(time.Unix(0, calm)) < settleTime {
		m.floors = nil
		return
	}
	now := time.Now()
	for len(m.floors) > 0 {
		lag := now.Sub(m.floors[0].at)
		m.lag = max(m.lag, lag)
		if behind(views, m.floors[0].parts) == "" {
			m.floors = m.floors[1:]
			continue
		}
		if lag > maxLag && m.calm.Load() == calm {
			m.problem("nothing is broken, yet after %v: %s", lag.Round(time.Millisecond), behind(views, m.floors[0].parts))
			m.floors = nil
		}
		break
	}
	m.floors = append(m.floors, floor{now, own(views)})
}

// setCalm says whether anything is broken from now on.
func (m *monitor) setCalm(calm bool) {
	if calm {
		m.calm.Store(time.Now().UnixNano())
	} else {
		m.calm.Store(0)
	}
}

func (m *monitor) problem(format string, args ...any) {
	if len(m.problems) < maxProblems {
		m.problems = append(m.problems, fmt.Sprintf(format, args...))
	}
}

// takeProblems returns what was found since it was last asked.
func (m *monitor) takeProblems() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := m.problems
	m.problems = nil
	return found
}

// summary is how often it looked, and the longest lag while nothing was broken.
func (m *monitor) summary() (looks int, lag time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.looks, m.lag
}
