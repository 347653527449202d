package redis

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// openPause is how long a failed attempt to open stands for the next ones, so
// that calls do not storm a server that is away.
const openPause = 50 * time.Millisecond

// reopen opens the reign unless that has happened since the caller looked at
// s.opens and saw seen. Of many callers one works; each waits within its own
// context.
func (s *Store) reopen(ctx context.Context, seen uint64) error {
	result := s.opening.DoChan("", func() (any, error) {
		if s.opens.Load() != seen {
			return nil, nil
		}
		return nil, s.open()
	})
	select {
	case r := <-result:
		return r.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// open reaches the server over a connection of its own and opens the reign of
// its data.
func (s *Store) open() error {
	if err := s.pausing(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.life, openTimeout)
	defer cancel()
	control := redis.NewClient(controlOptions(s.server))
	run, inForce, err := s.openOver(ctx, control)
	if err == nil {
		err = s.adopt(run, inForce)
	}
	if err != nil {
		_ = control.Close()
		s.report(err)
		return err
	}
	_ = s.control.Swap(control).Close()
	s.report(nil)
	return nil
}

// pausing returns why opening last failed, if that was just now.
func (s *Store) pausing() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	if s.state != nil && time.Since(s.failed) < openPause {
		return s.state
	}
	return nil
}

// openOver asks for the run and opens the reigns over one connection, so that
// both speak of the same server.
func (s *Store) openOver(ctx context.Context, control *redis.Client) (run string, inForce []string, err error) {
	conn := control.Conn()
	defer func() { _ = conn.Close() }() // its errors are those of what it carried
	if run, err = serverRun(ctx, conn); err != nil {
		return "", nil, err
	}
	if err := claimRegion(ctx, conn, s.opts.Region); err != nil {
		return "", nil, err
	}
	inForce, err = s.openTags(ctx, conn, run)
	return run, inForce, err
}

// regionKey names the region whose state the server holds; without expiry.
const regionKey = "weir:region"

// claimRegion makes the server the region's, or says whose it is.
func claimRegion(ctx context.Context, c redis.Cmdable, region string) error {
	if region == "" {
		return nil
	}
	pipe := c.Pipeline()
	pipe.SetNX(ctx, regionKey, region, 0)
	holder := pipe.Get(ctx, regionKey)
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("claim the server for the region: %w", err)
	}
	if holder.Val() != region {
		return fmt.Errorf("this server holds the state of region %q, not of %q: give every region a Redis, or a database, of its own (or delete the key %s if that region is gone for good)",
			holder.Val(), region, regionKey)
	}
	return nil
}

// adopt makes the reigns the ones that calls rest on. Connections to another
// run of the server are given up.
func (s *Store) adopt(run string, inForce []string) error {
	began := 0
	for tag, hex := range inForce {
		isNew, err := s.reigns.set(tag, hex)
		if err != nil {
			return err
		}
		if isNew {
			began++
		}
	}
	if before := *s.run.Swap(&run); before != run {
		_ = s.calls.Swap(s.newCalls()).Close()
	}
	if s.opens.Add(1) > 1 && began > 0 {
		s.log.Warn("redis has begun anew: buckets start full, quotas continue from what the nodes know",
			"reign", inForce[0][:reignDigits], "run_id", run, "tags", began)
	}
	return nil
}
