package redis

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// lookPeriod is how often the server is looked at while it is well.
	lookPeriod = time.Second
	// retryFirst doubles with each failure in a row, up to lookPeriod.
	retryFirst = 50 * time.Millisecond
)

// Health is what the store last heard of the server.
type Health struct {
	// Reached says whether it answers and holds a reign.
	Reached bool
	// RunID names its run.
	RunID string
	// MaxMemory is in bytes; 0 is no bound.
	MaxMemory int64
	// Policy is what it does when that is reached: anything but noeviction
	// silently resets limits.
	Policy string
	// Evicts says that it may do so.
	Evicts bool
}

// Health returns what was last heard, at most a second or so ago.
func (s *Store) Health() Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.health
	h.Reached, h.RunID = s.state == nil, *s.run.Load()
	return h
}

// watch looks at the server until the store is closed: it opens the reign when
// the server appears or has been restarted, and tells of changes once.
func (s *Store) watch() {
	retry := retryFirst
	for {
		pause := lookPeriod
		if err := s.look(); err != nil {
			s.report(err)
			pause = jitter(retry)
			retry = min(2*retry, lookPeriod)
		} else {
			retry = retryFirst
		}
		select {
		case <-s.life.Done():
			return
		case <-time.After(pause):
		}
	}
}

// jitter is d, give or take a fourth, so that nodes do not come all at once.
func jitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2)
}

// look asks the server who it is, opens the reign if that changed, and reads
// what it does when memory runs out.
func (s *Store) look() error {
	ctx, cancel := context.WithTimeout(s.life, openTimeout+controlTimeout)
	defer cancel()
	seen := s.opens.Load()
	run, err := serverRun(ctx, s.control.Load())
	if err != nil || run != *s.run.Load() {
		// What the pooled connections lead to may be gone: open over a new one.
		if err := s.reopen(ctx, seen); err != nil {
			return err
		}
	}
	s.report(nil)
	info, err := s.control.Load().Info(ctx, "memory").Result()
	if errors.Is(err, redis.ErrClosed) {
		return nil // replaced meanwhile
	}
	if err != nil {
		return err
	}
	s.judgeMemory(info)
	return nil
}

// report notes how the server fares and tells when that changes.
func (s *Store) report(err error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	before := s.state
	s.state = err
	if err != nil {
		s.failed = time.Now()
	}
	s.mu.Unlock()
	switch {
	case err == nil && before != nil:
		s.log.Info("redis reached", "reign", formatReign(s.reigns.at(0).nonce), "run_id", *s.run.Load())
	case err == nil || before != nil && !errors.Is(before, errNotYet):
	case errors.Is(err, errNotYetUsed):
		s.log.Warn("redis reached, but not used yet", "err", err)
	default:
		s.log.Warn("redis unreachable", "err", err)
	}
}
