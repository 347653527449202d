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

// TestALeasedCheckDoesNotAllocate, with one quota and with two; a pool may be
// emptied by the collector, so it is not quite zero.
func TestALeasedCheckDoesNotAllocate(t *testing.T) {
	rules, err := rule.Parse("rules.yaml", []byte(`
rules:
  - {name: daily, count_by: [key], quota: 1e12/day}
  - {name: hourly, count_by: [key], quota: 1e12/h}
`))
	if err != nil {
		t.Fatal(err)
	}
	e := NewEngine(rules, embedded.New(embedded.Options{}), namingLedger{}, time.Now)
	req := &Request{Attributes: map[string]string{"key": "sk_live_00000001"}, Cost: 1}
	holdLeases(t, e, req)
	allocated := testing.AllocsPerRun(1000, func() {
		if d := e.Check(context.Background(), req); !d.Allowed || d.DecidedBy != DecidedByLease {
			t.Errorf("got %+v", d)
		}
	})
	if allocated >= 1 {
		t.Errorf("a check allocates %v times", allocated)
	}
}

// namingLedger is a plainLedger that tells the rows of two rules apart.
type namingLedger struct{ plainLedger }

func (l namingLedger) View(q *store.QuotaRow) bool {
	l.plainLedger.View(q)
	q.ID[1] = q.Row.Rule[0]
	return true
}

// BenchmarkLease is a check of a quota decided from a lease, beside the same
// check decided in the embedded store.
func BenchmarkLease(b *testing.B) {
	rules, err := rule.Parse("rules.yaml", []byte("rules: [{name: daily, count_by: [key], quota: 1e12/day}]"))
	if err != nil {
		b.Fatal(err)
	}
	for _, leased := range []bool{false, true} {
		name := map[bool]string{false: "store", true: "lease"}[leased]
		b.Run(name, func(b *testing.B) {
			s := embedded.New(embedded.Options{})
			e := NewEngine(rules, s, plainLedger{}, time.Now)
			req := &Request{Attributes: map[string]string{"key": "sk_live_00000001"}, Cost: 1}
			if leased {
				holdLeases(b, e, req)
			}
			b.ReportAllocs()
			for b.Loop() {
				if d := e.Check(context.Background(), req); !d.Allowed || leased != (d.DecidedBy == DecidedByLease) {
					b.Fatal(d)
				}
			}
		})
	}
}

// holdLeases has the engine hold leases, of all quotas of a check, that a
// benchmark does not spend.
func holdLeases(t testing.TB, e *Engine, req *Request) {
	l := NewLeases(LeaseOptions{Node: "n", Store: e.store, Ledger: e.ledger, HotChecks: 1})
	e.UseLeases(l)
	e.Check(context.Background(), req)
	asks := l.waiting(<-l.asks)
	for i := range asks {
		asks[i].want = 1e9
	}
	l.attend(context.Background(), asks)
	if n, units := l.Held(); int(n) != len(asks) || units < 1e9 {
		t.Fatalf("%d leases with %d units are held", n, units)
	}
}
