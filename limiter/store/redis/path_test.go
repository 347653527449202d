package redis

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/limiter/store"
	"weir/limiter/store/storetest"
)

// TestTheSumIsExact: whatever the path between does, in the end just what callers
// were told is counted.
func TestTheSumIsExact(t *testing.T) {
	server := storetest.StartServer(t)
	plain := plainClient(t, server)
	g := newGate(t, server)
	nodes := make([]*Store, 2)
	for i := range nodes {
		nodes[i] = newStore(t, Options{URL: g.url(), Budget: 100 * time.Millisecond, Pool: 8})
		waitReady(t, nodes[i])
	}
	sub := subject(t, nodes[0], plain)
	quotas := []store.QuotaTake{storetest.NewQuota(sub, 1<<40, 1), storetest.NewQuota(sub, 1<<40, 3), storetest.NewQuota(sub, 1<<40, 7)}
	var told [3]atomic.Int64
	var failed atomic.Int64
	var callers sync.WaitGroup
	stop := make(chan struct{})
	for i := range 16 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				calls := make([]*store.Call, 1+rand.N(3))
				for n := range calls {
					calls[n] = newCall(quotas[rand.N(3):]...)
				}
				nodes[i%2].Decide(t.Context(), calls)
				for _, c := range calls {
					if c.Status != store.Allowed {
						failed.Add(1)
						continue
					}
					if rand.N(10) == 0 { // the caller does not believe it
						nodes[i%2].Cancel(c)
						continue
					}
					for _, q := range c.Quotas {
						for n := range quotas {
							if quotas[n].ID == q.ID {
								told[n].Add(q.Cost)
							}
						}
					}
				}
			}
		})
	}
	for range 12 {
		pause := time.After(time.Duration(50+rand.N(150)) * time.Millisecond)
		switch rand.N(3) {
		case 0:
			g.deaf.Store(true)
			<-pause
			g.deaf.Store(false)
		case 1:
			release := g.hold()
			<-pause
			release()
		case 2:
			g.breakOff()
			<-pause
		}
	}
	close(stop)
	callers.Wait()
	for _, s := range nodes {
		if counts := waitSettled(t, s); counts.Expired+counts.Overflowed+counts.Ended > 0 {
			t.Errorf("settled: %+v", counts)
		} else if counts.Returned == 0 {
			t.Errorf("nothing went back: %+v", counts)
		}
	}
	for n, q := range quotas {
		if got := netOf(t, nodes[0], q); got != told[n].Load() {
			t.Errorf("quota %d: %d counted, callers were told of %d; %d calls failed", n, got, told[n].Load(), failed.Load())
		}
	}
}
