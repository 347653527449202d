package chaos

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// tally counts a node's answers.
type tally struct {
	allowed, denied atomic.Int64
	away            atomic.Int64 // denied because the store was
	failed          atomic.Int64 // calls without an answer

	mu          sync.Mutex
	lastError   error
	lastDecided time.Time
	silentSince time.Time     // lastDecided, or when asking began again
	silence     time.Duration // longest without an answer of the store, while asked
	latency     time.Duration // longest call
}

// counts is a tally at one moment.
type counts struct{ allowed, denied, away, failed int64 }

func (t *tally) counts() counts {
	return counts{t.allowed.Load(), t.denied.Load(), t.away.Load(), t.failed.Load()}
}

func (c counts) plus(o counts) counts {
	return counts{c.allowed + o.allowed, c.denied + o.denied, c.away + o.away, c.failed + o.failed}
}

func (c counts) minus(o counts) counts {
	return c.plus(counts{-o.allowed, -o.denied, -o.away, -o.failed})
}

func (t *tally) allow(at time.Time) {
	t.allowed.Add(1)
	t.decide(at)
}

func (t *tally) deny(at time.Time) {
	t.denied.Add(1)
	t.decide(at)
}

// decide takes in an answer that allowed or denied, by what the store said.
func (t *tally) decide(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.beSilentUntil(at)
	t.lastDecided = at
}

// beSilentUntil ends a time without an answer of the store. The caller holds
// t.mu.
func (t *tally) beSilentUntil(at time.Time) {
	if !t.silentSince.IsZero() {
		t.silence = max(t.silence, at.Sub(t.silentSince))
	}
	t.silentSince = at
}

func (t *tally) fail(err error) {
	t.failed.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lastError = err
}

func (t *tally) slowest(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.latency = max(t.latency, took)
}

// rest takes out the time in which nothing was asked.
func (t *tally) rest(from, to time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.beSilentUntil(from)
	t.silentSince = to
}

// extremes are the worst of a tally since they were last taken.
type extremes struct {
	silence, latency time.Duration
	lastError        error
}

func (t *tally) takeExtremes(now time.Time) extremes {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.beSilentUntil(now)
	e := extremes{t.silence, t.latency, t.lastError}
	t.silence, t.latency, t.lastError = 0, 0, nil
	return e
}

// decidedSince says whether the store decided after the instant.
func (t *tally) decidedSince(at time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lastDecided.After(at)
}

func TestTallyMeasuresSilenceWhileAsked(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(1000+int64(s), 0) }
	var n tally
	n.allow(at(0))
	n.rest(at(3), at(60)) // silent for 3 s, then not asked
	n.allow(at(64))
	if got := n.takeExtremes(at(65)).silence; got != 4*time.Second {
		t.Errorf("silence %v, want 4s", got)
	}
	if got := n.takeExtremes(at(72)).silence; got != 7*time.Second {
		t.Errorf("still silent: %v, want 7s", got)
	}
}
