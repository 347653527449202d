package model

import (
	"testing"
	"time"
)

func explore(t *testing.T, c Config, depth, states int) Result {
	t.Helper()
	begin := time.Now()
	r := Search(c, depth, states)
	t.Logf("%s: %d states, depth %d, whole %v, %.1f s", c.Name, r.States, r.Depth, r.Whole, time.Since(begin).Seconds())
	if r.Law != "" {
		for _, line := range r.Trace {
			t.Log(line)
		}
		t.Errorf("%s: %s", c.Name, r.Law)
	}
	return r
}

func TestSmall(t *testing.T) {
	for _, c := range []Config{
		{Name: "2x1 gifts", Regions: 2, Nodes: 1, Reigns: 1, Quota: 2, Budget: budget{Decides: 4, Gives: 3, Losses: 2}},
		{Name: "1x2 wipe", Regions: 1, Nodes: 2, Reigns: 2, Quota: 3, Budget: budget{Decides: 5, Wipes: 1, Losses: 1}},
		{Name: "2x2 wipe", Regions: 2, Nodes: 2, Reigns: 2, Quota: 3, Budget: budget{Decides: 4, Gives: 1, Wipes: 1, Losses: 1, Silent: 1}},
		{Name: "1x2 wipe crash", Regions: 1, Nodes: 2, Reigns: 2, Quota: 3, Budget: budget{Decides: 4, Wipes: 1, Crashes: 2, Losses: 1}},
		{Name: "1x2 failover", Regions: 1, Nodes: 2, Reigns: 2, Quota: 3, Budget: budget{Decides: 3, Failovers: 1, Losses: 1, Leases: 1}},
		{Name: "1x2 split", Regions: 1, Nodes: 2, Reigns: 2, Quota: 3, Budget: budget{Decides: 5, Failovers: 1, Splits: 1, Losses: 1, Silent: 1}},
	} {
		explore(t, c, 0, 2000000)
	}
}
