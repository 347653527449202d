package model

import (
	"testing"
	"time"
)

// Every broken law must be caught in a small world, by a shortest path, and the
// same world must be sound when the law is kept.
var mutants = []Config{
	{Mutant: DeductAfterGiving, Regions: 2, Nodes: 1, Reigns: 1, Quota: 2, Budget: budget{Decides: 4, Gives: 1}},
	{Mutant: ScalarFloor, Regions: 1, Nodes: 2, Reigns: 3, Quota: 3, Budget: budget{Decides: 4, Wipes: 2, Silent: 3}},
	{Mutant: ReplicaInTwoReigns, Regions: 1, Nodes: 1, Reigns: 2, Quota: 2, Budget: budget{Decides: 3, Wipes: 1}},
	{Mutant: ShareToEachReplica, Regions: 2, Nodes: 1, Reigns: 2, Quota: 2, Budget: budget{Decides: 3, Wipes: 1}},
	{Mutant: AdoptedUnexchanged, Regions: 1, Nodes: 2, Reigns: 2, Quota: 2, Budget: budget{Decides: 3, Wipes: 1}},
	{Mutant: LateReplyBelieved, Regions: 1, Nodes: 2, Reigns: 2, Quota: 2, Budget: budget{Decides: 3, Wipes: 1}},
	{Mutant: LeaseInNextReign, Regions: 1, Nodes: 2, Reigns: 2, Quota: 2, Budget: budget{Decides: 3, Leases: 1, Wipes: 1}},
	{Mutant: GiftBeforeDurable, Regions: 2, Nodes: 1, Reigns: 2, Quota: 2, Budget: budget{Decides: 3, Gives: 1, Wipes: 1, Crashes: 1}},
	{Mutant: ReceiptInOtherReign, Regions: 1, Nodes: 2, Reigns: 2, Quota: 2, Budget: budget{Decides: 3, Refunds: 2, Wipes: 1}},
	{Mutant: SeparateDeltas, Regions: 1, Nodes: 2, Reigns: 2, Quota: 2, History: true, Budget: budget{Decides: 3, Refunds: 1, Wipes: 1, Crashes: 1}},
	{Mutant: ClaimSkipped, Regions: 1, Nodes: 2, Reigns: 3, Quota: 2, Budget: budget{Decides: 3, Wipes: 2}},
	{Mutant: LocalSplit, Regions: 2, Nodes: 1, Reigns: 1, Quota: 2, NextSplit: []int{2, 0}, Budget: budget{Decides: 3}},
	{Mutant: AckBeforeDurable, Regions: 2, Nodes: 1, Reigns: 2, Quota: 2, NextSplit: []int{2, 0}, Budget: budget{Decides: 3, Wipes: 1, Crashes: 1}},
	{Mutant: PeriodUnchecked, Regions: 1, Nodes: 1, Reigns: 1, Quota: 2, Period: true, Budget: budget{Decides: 3}},
}

func TestMutants(t *testing.T) {
	for _, c := range mutants {
		t.Run(string(c.Mutant), func(t *testing.T) {
			begin := time.Now()
			r := Search(c, 0, 3000000)
			if r.Law == "" {
				t.Fatalf("not caught in %d states, depth %d, whole %v", r.States, r.Depth, r.Whole)
			}
			t.Logf("caught in %d states and %.2f s by %d actions", r.States, time.Since(begin).Seconds(), len(r.Trace))
			for _, line := range r.Trace {
				t.Log(line)
			}
			t.Log(r.Law)
		})
		t.Run(string(c.Mutant)+"/kept", func(t *testing.T) {
			c.Mutant = LawAbiding
			explore(t, c, 0, 500000)
		})
	}
}
