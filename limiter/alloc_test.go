//go:build !race

package limiter

import (
	"context"
	"testing"
	"time"

	"weir/limiter/rule"
	"weir/limiter/store"
	"weir/limiter/store/embedded"
)

// plainLedger knows nothing and names every row alike.
type plainLedger struct{}

func (plainLedger) View(q *store.QuotaRow) bool {
	q.ID[0], q.Allotted = 1, q.Total
	return true
}
func (plainLedger) Mark(*store.QuotaRow) bool                { return false }
func (plainLedger) Record(*store.QuotaRow) bool              { return true }
func (plainLedger) Refused(*store.QuotaRow)                  {}
func (plainLedger) RightsWait(*store.QuotaRow) time.Duration { return 0 }

// TestACheckDoesNotAllocate counts what the engine and the embedded store
// allocate; a pool may be emptied by the collector, so it is not quite zero.
func TestACheckDoesNotAllocate(t *testing.T) {
	rules, err := rule.Parse("rules.yaml", []byte(`
rules:
  - {name: fast, count_by: [key], limit: 1e6/s}
  - {name: daily, count_by: [key], quota: 1e9/day}
`))
	if err != nil {
		t.Fatal(err)
	}
	e := NewEngine(rules, embedded.New(embedded.Options{}), plainLedger{}, time.Now)
	req := &Request{Attributes: map[string]string{"key": "sk_live_00000001"}, Cost: 1}
	allocated := testing.AllocsPerRun(1000, func() {
		if d := e.Check(context.Background(), req); !d.Allowed {
			t.Errorf("denied: %+v", d)
		}
	})
	if allocated >= 1 {
		t.Errorf("a check allocates %v times", allocated)
	}
}
