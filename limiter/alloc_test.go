//go:build !race

package limiter

import (
	"context"
	"testing"
)

// TestACheckDoesNotAllocate holds for buckets of one attribute in the embedded
// store; a pool may be emptied by the collector, so it is not quite zero.
func TestACheckDoesNotAllocate(t *testing.T) {
	b := newBench(t)
	req := &Request{Attributes: map[string]string{"key": "sk_live_00000001"}}
	if got := testing.AllocsPerRun(1000, func() { b.engine.Check(context.Background(), req) }); got >= 1 {
		t.Errorf("a check allocates %v times", got)
	}
}
