package api

import (
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestGateCountsChecks(t *testing.T) {
	g := NewGate(10)
	if err := g.Enter(1); status.Code(err) != codes.Unavailable {
		t.Errorf("closed: got %v", err)
	}
	g.Open()
	for _, step := range []struct {
		enter, leave int
		want         codes.Code
	}{
		{enter: 6, want: codes.OK},
		{enter: 5, want: codes.ResourceExhausted},
		{enter: 4, want: codes.OK},
		{enter: 1, want: codes.ResourceExhausted},
		{leave: 4, enter: 11, want: codes.ResourceExhausted},
		{leave: 6, enter: 11, want: codes.OK}, // nothing else is inside
		{enter: 1, want: codes.ResourceExhausted},
		{leave: 11, enter: 10, want: codes.OK},
	} {
		g.Leave(step.leave)
		if err := g.Enter(step.enter); status.Code(err) != step.want {
			t.Errorf("%+v: got %v", step, err)
		}
	}
	if got := g.Refused(); got != 5+1+11+1 {
		t.Errorf("refused %d", got)
	}
}

// However calls race, no more than the limit is inside, and all that was
// refused is counted.
func TestGateUnderLoad(t *testing.T) {
	const limit, callers, calls = 20, 8, 2000
	g := NewGate(limit)
	g.Open()
	var inside, refused, most atomic.Int64
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			n := caller + 1
			for range calls {
				if g.Enter(n) != nil {
					refused.Add(int64(n))
					continue
				}
				now := inside.Add(int64(n))
				for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
				}
				inside.Add(-int64(n))
				g.Leave(n)
			}
		})
	}
	wg.Wait()
	if most.Load() > limit || g.Refused() != uint64(refused.Load()) {
		t.Errorf("%d inside, refused %d, counted %d", most.Load(), refused.Load(), g.Refused())
	}
	if err := g.Enter(limit); err != nil {
		t.Errorf("not empty at the end: %v", err)
	}
}
