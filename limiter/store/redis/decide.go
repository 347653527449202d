package redis

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"weir/limiter/store"
)

// maxAsks bounds how often a request is sent. It is sent again only when nothing
// can have been applied: the script was unknown, the connection was refused
// before use, or the script refused the reign.
const maxAsks = 4

// Decide implements store.Store.
func (s *Store) Decide(ctx context.Context, calls []*store.Call) {
	var few [16]*request
	asking := few[:0]
	for _, c := range calls {
		if err := c.Check(); err != nil {
			c.Fail(err)
			continue
		}
		c.Err = nil
		asking = append(asking, newRequest((*call)(c)))
	}
	s.askAll(ctx, asking)
}

// Apply implements store.Store.
func (s *Store) Apply(ctx context.Context, changes []*store.Change) {
	var few [16]*request
	asking := few[:0]
	for _, c := range changes {
		if err := c.Check(); err != nil {
			c.Fail(err)
			continue
		}
		c.Err, c.Moved = nil, 0
		asking = append(asking, newRequest((*change)(c)))
	}
	s.askAll(ctx, asking)
}

// askAll has the requests answered and releases them.
func (s *Store) askAll(ctx context.Context, asking []*request) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Budget)
	defer cancel()
	in := view{deadline: s.opts.Clock() + s.opts.Budget, exchanges: s.exchanges.Load()}
	for len(asking) > 0 {
		asking = s.ask(ctx, asking, in)
	}
}

// view is what questions rest on: they are asked by then, and by callers who
// knew what they did before any later exchange.
type view struct {
	deadline  time.Duration // on Options.Clock
	exchanges uint64
}

// ask sends the requests once and returns those to send again, in the same
// list. The others are answered and released.
func (s *Store) ask(ctx context.Context, asking []*request, in view) []*request {
	seen := s.opens.Load()
	if seen == 0 {
		if err := s.reopen(ctx, seen); err != nil {
			return s.failAll(asking, err)
		}
		seen = s.opens.Load()
	}
	asking = s.restOn(asking, in)
	if len(asking) == 0 {
		return asking
	}
	start := time.Now()
	s.send(ctx, asking)
	late := s.opts.Clock() > in.deadline
	again, reopen, failure := s.read(asking, late)
	s.opts.Observe(time.Since(start), failure)
	s.tellRefusal(failure)
	if reopen {
		if err := s.reopen(ctx, seen); err != nil {
			return s.failAll(again, err)
		}
	}
	return again
}

// tellRefusal tells once when the server begins to answer calls with an error
// (OOM, READONLY), and once when it no longer does. Silence is told by watch.
func (s *Store) tellRefusal(failure error) {
	var refusal redis.Error
	switch refused := errors.As(failure, &refusal); {
	case refused && s.refuses.CompareAndSwap(false, true):
		s.log.Warn("redis refuses calls, which are denied", "err", failure)
	case failure == nil && s.refuses.Load() && s.refuses.CompareAndSwap(true, false):
		s.log.Info("redis takes calls again")
	}
}

func (s *Store) failAll(asking []*request, err error) []*request {
	for _, r := range asking {
		r.fail(s.unavailable(err))
		r.release()
	}
	return nil
}

// restOn answers the requests that name another reign than the one in force, or
// none while an exchange told their callers more, and returns the rest.
func (s *Store) restOn(asking []*request, in view) []*request {
	rest := asking[:0]
	stale := s.exchanges.Load() != in.exchanges
	for _, r := range asking {
		if r.restOn(&s.reigns, stale) {
			rest = append(rest, r)
			continue
		}
		r.answer(store.WrongReign, 0)
		r.release()
	}
	return rest
}

// send sends the requests in one pipeline. Their commands hold the outcome.
func (s *Store) send(ctx context.Context, asking []*request) {
	client := s.calls.Load()
	if len(asking) == 1 {
		_ = client.Process(ctx, asking[0].command(ctx)) // the command keeps it
		return
	}
	pipe := client.Pipeline()
	for _, r := range asking {
		_ = pipe.Process(ctx, r.command(ctx)) // only queues
	}
	_, _ = pipe.Exec(ctx) // each command keeps its own
}

// read answers the requests that were decided or lost and returns the others, to
// be sent again; whether the reign must be opened before that; and why a request
// was lost, if one was. Replies that came late are lost.
func (s *Store) read(asking []*request, late bool) (again []*request, reopen bool, failure error) {
	again = asking[:0]
	for _, r := range asking {
		next, err := s.readOne(r, late)
		reopen = reopen || next.reopen
		if next.again && r.asks < maxAsks {
			again = append(again, r)
			continue
		}
		if err != nil {
			failure = s.unavailable(err)
			r.fail(failure)
		}
		r.release()
	}
	return again, reopen, failure
}

// next is what to do after a request was sent: open the reign, ask again.
type next struct{ reopen, again bool }

// readOne reads one request's reply. An error is why it was lost, if it is not
// asked again.
func (s *Store) readOne(r *request, late bool) (next, error) {
	reply, err := r.cmd.Result()
	var refusal redis.Error
	switch {
	case err == nil && late:
		s.lost(r)
		return next{}, errLate
	case err == nil:
		return s.readReply(r, reply)
	case isUnknownScript(err):
		r.whole = true
		return next{again: true}, err
	case !r.id.written && (errors.Is(err, errOtherRun) || errors.Is(err, redis.ErrClosed)):
		return next{reopen: true, again: true}, err
	case !errors.As(err, &refusal):
		s.lost(r)
	}
	return next{}, err
}

func (s *Store) readReply(r *request, reply []int64) (next, error) {
	status, err := r.read(reply)
	switch {
	case errors.Is(err, errWrongSplit):
		return next{reopen: true, again: true}, err
	case errors.Is(err, errCancelled):
	case err != nil:
		s.lost(r)
	case status == store.WrongReign:
		return next{reopen: true, again: !r.namesReign()}, nil
	}
	return next{}, err
}

func isUnknownScript(err error) bool { return redis.HasErrorPrefix(err, "NOSCRIPT") }
