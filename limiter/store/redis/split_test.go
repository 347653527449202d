package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/limiter/store"
	"weir/limiter/store/storetest"
)

// TestSplit: the higher version is in force, and who knows a lower one only is
// refused.
func TestSplit(t *testing.T) {
	server := storetest.StartServer(t)
	plain := plainClient(t, server)
	var exchanges atomic.Int64
	old := openStore(t, Options{URL: server.URL, Split: 2, Budget: 100 * time.Millisecond})
	q := storetest.NewQuota(subject(t, old, plain), 1000, 1)
	storetest.Decide(t, old, newCall(q), store.Allowed)
	s := openStore(t, Options{URL: server.URL, Split: 10, Exchange: func(context.Context, store.Reign) error { exchanges.Add(1); return nil }})
	if old.Reign(q.Tag) != s.Reign(q.Tag) || exchanges.Load() != 1 {
		t.Errorf("a reign began with the split; %d exchanges", exchanges.Load())
	}
	c := newCall(q)
	old.Decide(t.Context(), []*store.Call{c})
	if c.Status != store.Failed || !errors.Is(c.Err, store.ErrUnavailable) {
		t.Errorf("status %d under an older split", c.Status)
	}
	eventually(t, func() error {
		if err := old.Ready(t.Context()); !errors.Is(err, errWrongSplit) || !strings.Contains(err.Error(), "10") {
			return fmt.Errorf("ready says %w", errors.Join(err, errors.ErrUnsupported))
		}
		return nil
	})
	same := openStore(t, Options{URL: server.URL, Split: 10})
	for _, s := range []*Store{s, same} {
		storetest.Decide(t, s, newCall(q), store.Allowed)
	}
	if got := netOf(t, s, q); got != 3 {
		t.Errorf("%d taken, want 3", got)
	}
}
