package sim

import (
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
	"time"
)

var (
	seed      = flag.Uint64("seed", 0, "run this one schedule; 0 runs many")
	schedules = flag.Uint64("schedules", 200, "how many schedules to run, from seed 1")
	eventsTo  = flag.String("events", "", "write the events of -seed to this file")
)

func replay(seed uint64) string {
	return fmt.Sprintf("replay: go test ./test/sim -run TestSchedules -seed %d -events events.txt", seed)
}

func TestSchedules(t *testing.T) {
	if *seed != 0 {
		report, err := Run(Options{Seed: *seed, Trace: eventsFile(t)})
		t.Logf("seed %d: %+v", *seed, report)
		if err != nil {
			t.Fatalf("seed %d: %v", *seed, err)
		}
		return
	}
	var total Report
	var slowestHealing time.Duration
	forgetting := 0
	for s := uint64(1); s <= *schedules; s++ {
		report, err := Run(Options{Seed: s})
		if err != nil {
			t.Errorf("seed %d: %v\n%s", s, err, replay(s))
			continue
		}
		total.Events += report.Events
		total.Counted += report.Counted
		slowestHealing = max(slowestHealing, report.Healed)
		if report.Forgotten > 0 {
			forgetting++
		}
	}
	t.Logf("%d schedules, %d events, %d units counted; slowest healing %v; in %d something was forgotten by all",
		*schedules, total.Events, total.Counted, slowestHealing, forgetting)
	// A simulator that breaks nothing, or only ever loses everything, shows
	// nothing.
	if n := int(*schedules); n >= 50 && (forgetting == 0 || forgetting > n*9/10) {
		t.Errorf("%d of %d schedules forgot something: the faults are too mild or too harsh", forgetting, n)
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
		first, err := Run(Options{Seed: s})
		if err != nil {
			t.Fatalf("%v\n%s", err, replay(s))
		}
		second, _ := Run(Options{Seed: s})
		if first != second {
			t.Errorf("seed %d: %+v, then %+v", s, first, second)
		}
		traces[first.Trace] = true
	}
	if len(traces) != 5 {
		t.Errorf("5 seeds gave %d traces", len(traces))
	}
}
