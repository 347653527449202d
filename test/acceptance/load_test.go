package acceptance

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	weirv1 "weir/proto/weir/v1"
)

// tally is what clients know of what must have been counted, in units by key.
type tally struct {
	mu sync.Mutex
	// Calls that were allowed: these are counted.
	acknowledged map[string]int64
	// Calls under way, that failed, or that were denied because the store did
	// not answer in time: each may be counted or not.
	unsettled map[string]int64
	// Those of the unsettled that were denied.
	unavailable map[string]int64

	answers   []answer
	errs      []error
	durations []time.Duration
}

// answer is one acknowledged unit.
type answer struct {
	key string
	at  time.Time
}

func newTally() *tally {
	return &tally{acknowledged: map[string]int64{}, unsettled: map[string]int64{}, unavailable: map[string]int64{}}
}

// begin notes a call before it is made.
func (l *tally) begin(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unsettled[key]++
}

// end notes how a call ended. Only an allow is settled.
func (l *tally) end(key string, out *weirv1.CheckResponse, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		l.errs = append(l.errs, err)
	case out.Allowed:
		l.unsettled[key]--
		l.acknowledged[key]++
		l.answers = append(l.answers, answer{key, time.Now()})
	case out.Reason == weirv1.Reason_REASON_STORE_UNAVAILABLE:
		l.unavailable[key]++
	default:
		l.errs = append(l.errs, fmt.Errorf("%s: denied with %v", key, out.Reason))
	}
}

func (l *tally) total() (acknowledged, unsettled int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return sum(l.acknowledged), sum(l.unsettled)
}

func sum(of map[string]int64) (all int64) {
	for _, n := range of {
		all += n
	}
	return all
}

// explains says whether counts lie between what was acknowledged and that plus
// what is unsettled, key by key.
func (l *tally) explains(counts map[string]int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, count := range counts {
		if most := l.acknowledged[key] + l.unsettled[key]; count > most {
			return fmt.Errorf("%s: %d counted, at most %d can be", key, count, most)
		}
	}
	for key, least := range l.acknowledged {
		if counts[key] < least {
			return fmt.Errorf("%s: %d counted, %d acknowledged", key, counts[key], least)
		}
	}
	return nil
}

// took notes how long a call took.
func (l *tally) took(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.durations = append(l.durations, d)
}

// answered is the tally without calls that failed: as if those cannot have been
// counted.
func (l *tally) answered() *tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &tally{acknowledged: l.acknowledged, unsettled: l.unavailable}
}

// before is what had been acknowledged at an instant.
func (l *tally) before(instant time.Time) map[string]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[string]int64)
	for _, a := range l.answers {
		if a.at.Before(instant) {
			out[a.key]++
		}
	}
	return out
}

func (l *tally) errors() []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]error(nil), l.errs...)
}

// load is clients that call until they are stopped or a call of theirs fails.
type load struct {
	*tally
	stopping chan struct{}
	workers  sync.WaitGroup

	// reached holds, for each worker, the addresses that answered since it was
	// last cleared.
	reachedMu sync.Mutex
	reached   []map[string]bool
}

// startLoad starts one worker for each client, each with one call under way at
// a time. Keys begin with the prefix; there are so many of them that most are
// counted now and then only.
func startLoad(t *testing.T, clients []*client, prefix string, keys int) *load {
	t.Helper()
	l := &load{tally: newTally(), stopping: make(chan struct{})}
	l.forgetReached(len(clients))
	for i, c := range clients {
		l.workers.Go(func() { l.work(c, prefix, keys, i) })
	}
	t.Cleanup(l.stop)
	return l
}

func (l *load) work(c *client, prefix string, keys, worker int) {
	for i := worker * 7919; ; i += 31 {
		select {
		case <-l.stopping:
			return
		default:
		}
		key := fmt.Sprintf("%s-%d", prefix, i%keys)
		l.begin(key)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		var from peer.Peer
		out, err := c.Check(ctx, &weirv1.CheckRequest{Attributes: map[string]string{"client": key}}, grpc.Peer(&from))
		cancel()
		l.end(key, out, err)
		if err != nil {
			return
		}
		l.reachedMu.Lock()
		l.reached[worker][from.Addr.String()] = true
		l.reachedMu.Unlock()
	}
}

func (l *load) forgetReached(workers int) {
	l.reachedMu.Lock()
	defer l.reachedMu.Unlock()
	l.reached = make([]map[string]bool, workers)
	for i := range l.reached {
		l.reached[i] = make(map[string]bool)
	}
}

// waitReached waits until the node has answered every client anew: each takes
// its own time to connect again.
func (l *load) waitReached(t *testing.T, n *node) {
	t.Helper()
	l.forgetReached(len(l.reached))
	eventually(t, 30*time.Second, "every client is back at "+n.name, func(context.Context) error {
		l.reachedMu.Lock()
		defer l.reachedMu.Unlock()
		for i, addrs := range l.reached {
			if !addrs[n.grpcAddr()] {
				return fmt.Errorf("client %d is not, failed: %v", i, l.errors())
			}
		}
		return nil
	})
}

// stop lets calls under way end and makes no more.
func (l *load) stop() {
	select {
	case <-l.stopping:
	default:
		close(l.stopping)
	}
	l.workers.Wait()
}

// waitAnswers waits until so many more calls have been answered.
func (l *load) waitAnswers(t *testing.T, more int64) {
	t.Helper()
	before, _ := l.total()
	eventually(t, 30*time.Second, "clients are answered", func(context.Context) error {
		if now, _ := l.total(); now < before+more {
			return fmt.Errorf("%d answers so far, failed: %v", now-before, l.errors())
		}
		return nil
	})
}
