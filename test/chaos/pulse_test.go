package chaos

import (
	"bufio"
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// pulse is the control beside a region's nodes: it asks their Redis itself, all
// the time, over a connection of its own. Where it has to wait, the machine is
// busy with other things, and nodes that gave up waiting are excused.
type pulse struct {
	asked, slow atomic.Int64
}

const (
	pulseInterval = 20 * time.Millisecond
	// slowPulse is the part of a node's 50 ms that no idle machine needs.
	slowPulse = 15 * time.Millisecond
)

// run asks until the context ends.
func (p *pulse) run(ctx context.Context, s *store) {
	tick := time.NewTicker(pulseInterval)
	defer tick.Stop()
	for ctx.Err() == nil {
		p.beat(ctx, s, tick.C)
	}
}

// beat asks over one connection for as long as it lasts.
func (p *pulse) beat(ctx context.Context, s *store, due <-chan time.Time) {
	conn, err := s.space.dial(ctx, fmt.Sprintf("%s:%d", pulseAddress, redisPort))
	if err == nil {
		defer conn.Close()
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		defer stop()
	}
	var answers *bufio.Reader
	for {
		select {
		case <-ctx.Done():
			return
		case planned := <-due:
			if err != nil {
				return // there is no server now
			}
			if answers == nil {
				answers = bufio.NewReader(conn)
			}
			if _, err := conn.Write([]byte("PING\r\n")); err != nil {
				return
			}
			if _, err := answers.ReadString('\n'); err != nil {
				return
			}
			p.asked.Add(1)
			if time.Since(planned) > slowPulse {
				p.slow.Add(1)
			}
		}
	}
}

// beats is a pulse's counts at one moment.
type beats struct{ asked, slow int64 }

func (p *pulse) beats() beats { return beats{p.asked.Load(), p.slow.Load()} }

func (b beats) plus(o beats) beats { return beats{b.asked + o.asked, b.slow + o.slow} }

func (b beats) minus(o beats) beats { return beats{b.asked - o.asked, b.slow - o.slow} }
