package sim

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"testing"
)

var (
	seed      = flag.Uint64("seed", 0, "run this one schedule; 0 runs many")
	schedules = flag.Uint64("schedules", 300, "how many schedules to run, from seed 1")
	eventsTo  = flag.String("events", "", "write the events of -seed to this file")
)

func replay(seed uint64) string {
	return fmt.Sprintf("replay: go test ./test/sim -run TestSchedules -seed %d -events events.txt", seed)
}

func TestSchedules(t *testing.T) {
	if *seed != 0 {
		report, err := Run(Options{Seed: *seed, Epsilon: -1, Trace: eventsFile(t)})
		t.Logf("seed %d: %+v", *seed, report)
		if err != nil {
			t.Fatalf("seed %d: %v", *seed, err)
		}
		return
	}
	var total Table
	each(*schedules, func(s uint64) (Report, error) { return Run(Options{Seed: s, Epsilon: -1}) },
		func(s uint64, r Report, err error) {
			if err != nil {
				t.Errorf("seed %d: %v\n%s", s, err, replay(s))
				return
			}
			total.Add(&r)
		})
	t.Logf("%s", total.String())
	// A simulator that breaks nothing, or only ever loses everything, shows
	// nothing.
	if n := int(*schedules); n >= 50 && (total.Forgetting == 0 || total.Forgetting > n*9/10) {
		t.Errorf("%d of %d schedules forgot something: the faults are too mild or too harsh", total.Forgetting, n)
	}
}

// each runs seeds from 1 in as many goroutines as there are processors, and
// hands out their results in order.
func each(seeds uint64, run func(uint64) (Report, error), done func(uint64, Report, error)) {
	type result struct {
		report Report
		err    error
	}
	results := make([]result, seeds+1)
	next := make(chan uint64)
	var running sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		running.Go(func() {
			for s := range next {
				results[s].report, results[s].err = run(s)
			}
		})
	}
	for s := uint64(1); s <= seeds; s++ {
		next <- s
	}
	close(next)
	running.Wait()
	for s := uint64(1); s <= seeds; s++ {
		done(s, results[s].report, results[s].err)
	}
}

func eventsFile(t *testing.T) io.Writer {
	if *eventsTo == "" {
		return nil
	}
	f, err := os.Create(*eventsTo)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestTheSameSeedIsTheSameRun(t *testing.T) {
	traces := map[uint64]bool{}
	for s := uint64(1); s <= 5; s++ {
		first, err := Run(Options{Seed: s, Epsilon: -1})
		if err != nil {
			t.Fatalf("%v\n%s", err, replay(s))
		}
		second, _ := Run(Options{Seed: s, Epsilon: -1})
		if first != second {
			t.Errorf("seed %d: %+v, then %+v", s, first, second)
		}
		traces[first.Trace] = true
	}
	if len(traces) != 5 {
		t.Errorf("5 seeds gave %d traces", len(traces))
	}
}
