package limiter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/limiter/rule"
	"weir/limiter/store"
	"weir/limiter/store/embedded"
)

// manyRules is how many quotas one check of attribute a meets.
const manyRules = 40

type refundBench struct {
	engine   *Engine
	refunds  *Refunds
	receipts *Receipts
	ledger   *recorder
	posts    []post
	postErr  error
	nowUs    int64
}

type post struct {
	region  string
	payload []byte
	until   int64
}

// Post implements Forwarder.
func (b *refundBench) Post(region string, payload []byte, untilUnix int64) error {
	b.posts = append(b.posts, post{region, payload, untilUnix})
	return b.postErr
}

func newRefundBench(t *testing.T) *refundBench { return newRefundBenchOf(t, "eu") }

func newRefundBenchOf(t *testing.T, region string) *refundBench {
	t.Helper()
	text := `
rules:
  - {name: daily, count_by: [user], quota: 10/day, refundable: true}
  - {name: monthly, count_by: [user], quota: 100/month, refundable: true}
  - {name: kept, count_by: [user], quota: 100/day}
  - {name: bucket, count_by: [user], limit: 100/s}
`
	for i := range manyRules {
		text += fmt.Sprintf("  - {name: many%02d, count_by: [a], quota: %d/day, refundable: true}\n", i, 10+i)
	}
	rules, err := rule.Parse("rules.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	b := &refundBench{ledger: new(recorder), receipts: NewReceipts(region), nowUs: noon}
	s := embedded.New(embedded.Options{Now: func() int64 { return b.nowUs }})
	b.engine = NewEngine(rules, s, b.ledger, func() time.Time { return time.UnixMicro(b.nowUs) })
	b.receipts.SetSecret(NewSecret())
	b.engine.GiveReceipts(b.receipts)
	b.refunds = NewRefunds(b.engine, b.receipts, b, []string{"eu", "us"})
	return b
}

func (b *refundBench) left(t *testing.T, name string) int64 {
	t.Helper()
	for _, s := range b.engine.Check(t.Context(), ask(0, "user", "u")).Limits {
		if s.Rule == name {
			return s.Remaining
		}
	}
	t.Fatalf("no rule %s", name)
	return 0
}

func (b *refundBench) refund(t *testing.T, receipt []byte, units int64) Refund {
	t.Helper()
	got, err := b.refunds.Refund(t.Context(), receipt, units)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestAReceiptIsRefundedOnce(t *testing.T) {
	b := newRefundBench(t)
	other := b.engine.Check(t.Context(), ask(2, "user", "u")).Receipt
	receipt := b.engine.Check(t.Context(), ask(4, "user", "u")).Receipt
	got := b.refund(t, receipt, 0)
	if got.State != Refunded || got.Region != "eu" || len(got.Quotas) != 2 || got.Quotas[0] != (RefundedQuota{"daily", "u", 4, Refunded}) || got.Quotas[1].Units != 4 {
		t.Errorf("got %+v", got)
	}
	if last := b.ledger.recorded[len(b.ledger.recorded)-1]; last.Entry.Returned != 4 {
		t.Errorf("the ledger was told %+v", last.Entry)
	}
	for range 2 {
		if got := b.refund(t, receipt, 0); got.State != Already || got.Quotas[0].Units != 0 {
			t.Errorf("again: %+v", got)
		}
	}
	if daily, kept := b.left(t, "daily"), b.left(t, "kept"); daily != 8 || kept != 94 {
		t.Errorf("left: daily %d, of a rule that is not refundable %d", daily, kept)
	}
	if got := b.refund(t, other, 9); got.Quotas[0].Units != 2 {
		t.Errorf("not cut to the cost: %+v", got)
	}
	if c := b.refunds.Counts(); c.Refunded != 4 || c.Already != 4 || c.Units != 12 {
		t.Errorf("counted %+v", c)
	}
}

// TestPartOfAReceipt: what is not given back the first time stays charged.
func TestPartOfAReceipt(t *testing.T) {
	b := newRefundBench(t)
	receipt := b.engine.Check(t.Context(), ask(4, "user", "u")).Receipt
	if got := b.refund(t, receipt, 3); got.Quotas[0].Units != 3 {
		t.Errorf("got %+v", got)
	}
	if got := b.refund(t, receipt, 1); got.State != Already || b.left(t, "daily") != 9 {
		t.Errorf("again: %+v", got)
	}
}

func TestWhoGetsAReceipt(t *testing.T) {
	b := newRefundBench(t)
	for name, d := range map[string]Decision{
		"a look": b.engine.Check(t.Context(), ask(0, "user", "u")),
		"denied": b.engine.Check(t.Context(), ask(11, "user", "u")),
		"none":   b.engine.Check(t.Context(), ask(1, "nobody", "u")),
	} {
		if d.Receipt != nil {
			t.Errorf("%s has a receipt: %+v", name, d)
		}
	}
	batch := b.engine.CheckBatch(t.Context(), []Request{*ask(1, "user", "u"), *ask(2, "user", "v"), *ask(1, "x", "y")})
	if got := b.refund(t, batch[1].Receipt, 0); got.Quotas[0] != (RefundedQuota{"daily", "v", 2, Refunded}) || batch[0].Receipt == nil || batch[2].Receipt != nil {
		t.Errorf("got %+v of %+v", got, batch)
	}
}

// TestARefundAfterThePeriod does nothing in the new one; a longer period of the
// same receipt goes on.
func TestARefundAfterThePeriod(t *testing.T) {
	b := newRefundBench(t)
	receipt := b.engine.Check(t.Context(), ask(4, "user", "u")).Receipt
	b.nowUs += 86_400e6
	b.engine.Check(t.Context(), ask(5, "user", "u"))
	got := b.refund(t, receipt, 0)
	if got.State != Refunded || got.Quotas[0] != (RefundedQuota{"daily", "u", 0, Ended}) || got.Quotas[1].Units != 4 {
		t.Errorf("got %+v", got)
	}
	if left := b.left(t, "daily"); left != 5 {
		t.Errorf("%d left", left)
	}
	b.nowUs += 31 * 86_400e6
	if got := b.refund(t, receipt, 0); got.State != Ended {
		t.Errorf("got %+v", got)
	}
}

func TestARefundAfterAReset(t *testing.T) {
	b := newRefundBench(t)
	receipt := b.engine.Check(t.Context(), ask(4, "user", "u")).Receipt
	b.ledger.generation = 1
	b.engine.Check(t.Context(), ask(6, "user", "u"))
	if got := b.refund(t, receipt, 0); got.State != Ended || b.left(t, "daily") != 4 {
		t.Errorf("got %+v", got)
	}
}

func TestARefundInAnotherReign(t *testing.T) {
	b := newRefundBench(t)
	receipt := b.engine.Check(t.Context(), ask(4, "user", "u")).Receipt
	b.engine.store = embedded.New(embedded.Options{Now: func() int64 { return b.nowUs }})
	b.engine.Check(t.Context(), ask(6, "user", "u"))
	if got := b.refund(t, receipt, 0); got.State != Ended || b.left(t, "daily") != 4 {
		t.Errorf("got %+v", got)
	}
}

// forgetful is a store that hears of its reign only when asked.
type forgetful struct {
	store.Store
	known store.Reign
}

func (f *forgetful) Reign(uint16) store.Reign { return f.known }
func (f *forgetful) Decide(ctx context.Context, calls []*store.Call) {
	f.Store.Decide(ctx, calls)
	f.known = f.Store.Reign(0)
}
func (f *forgetful) Apply(ctx context.Context, changes []*store.Change) {
	for _, c := range changes {
		if c.Reign != f.known {
			c.Status = store.WrongReign
			continue
		}
		f.Store.Apply(ctx, []*store.Change{c})
	}
}

// TestAReignThisNodeHasNotHeardOf: another node of the region charged in it.
func TestAReignThisNodeHasNotHeardOf(t *testing.T) {
	b := newRefundBench(t)
	receipt := b.engine.Check(t.Context(), ask(4, "user", "u")).Receipt
	b.engine.store = &forgetful{Store: b.engine.store, known: 1}
	if got := b.refund(t, receipt, 0); got.State != Refunded {
		t.Errorf("got %+v", got)
	}
}

// TestAStoreThatDoesNotAnswer: the refund may be asked again.
func TestAStoreThatDoesNotAnswer(t *testing.T) {
	b := newRefundBench(t)
	receipt := b.engine.Check(t.Context(), ask(4, "user", "u")).Receipt
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.refunds.Refund(late, receipt, 0); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if _, err := b.refunds.GiveBack(late, ask(1, "user", "u")); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if c := b.refunds.Counts(); c.Ended != 0 || c.Already != 0 {
		t.Errorf("what the store did not answer is counted: %+v", c)
	}
	if got := b.refund(t, receipt, 0); got.State != Refunded || b.refunds.Counts().Failed != 2 {
		t.Errorf("got %+v, %+v", got, b.refunds.Counts())
	}
}

// TestAReceiptOfAnotherRegion is passed on unread, with the units, until its last
// period ends; and refunded where it was given.
func TestAReceiptOfAnotherRegion(t *testing.T) {
	eu, us := newRefundBench(t), newRefundBenchOf(t, "us")
	receipt := us.engine.Check(t.Context(), ask(4, "user", "u")).Receipt
	if got := eu.refund(t, receipt, 3); got.State != Forwarded || got.Region != "us" || len(eu.posts) != 1 {
		t.Fatalf("got %+v, posts %+v", got, eu.posts)
	}
	p := eu.posts[0]
	if end := time.Unix(p.until, 0).UTC(); p.region != "us" || end.Day() != 1 {
		t.Errorf("for %s until %v", p.region, end)
	}
	for range 2 {
		if err := us.refunds.Deliver(t.Context(), p.payload); err != nil {
			t.Fatal(err)
		}
	}
	if left := us.left(t, "daily"); left != 9 {
		t.Errorf("%d left", left)
	}
	far := receiptEnding(t, us, 1<<40)
	if got := eu.refund(t, far, 0); got.State != Forwarded || eu.posts[1].until != noon/1_000_000+32*86_400 {
		t.Errorf("one that says it lasts for ever: %+v, %+v", got, eu.posts[1])
	}
	gone := receiptEnding(t, us, noon/1_000_000-61)
	if got := eu.refund(t, gone, 0); got.State != Ended || got.Region != "us" || len(got.Quotas) != 1 || len(eu.posts) != 2 {
		t.Errorf("one of a period that is over: %+v", got)
	}
	eu.postErr = errors.New("full")
	if _, err := eu.refunds.Refund(t.Context(), receipt, 0); !errors.Is(err, ErrForward) {
		t.Errorf("got %v", err)
	}
	eu.refunds.forward = nil
	if _, err := eu.refunds.Refund(t.Context(), receipt, 0); !errors.Is(err, ErrElsewhere) || !strings.Contains(err.Error(), `"us"`) {
		t.Errorf("got %v", err)
	}
}

// receiptEnding is a receipt of the region for a period that ends then.
func receiptEnding(t *testing.T, b *refundBench, end int64) []byte {
	t.Helper()
	r := receipt{region: b.receipts.region, charges: []charge{{row: store.RowName{Rule: "daily", Start: end - 1, End: end}, reign: 1, cost: 1}}}
	return r.encode(b.receipts.secrets.Load().now)
}

func TestBadReceipts(t *testing.T) {
	b := newRefundBench(t)
	receipt := b.engine.Check(t.Context(), ask(4, "user", "u")).Receipt
	forged := bytes.Clone(receipt)
	forged[len(forged)-1]++
	elsewhere := bytes.Replace(receipt, []byte("\x02eu"), []byte("\x02xx"), 1)
	for name, in := range map[string][]byte{"empty": nil, "cut": receipt[:len(receipt)-1], "forged": forged, "of no region": elsewhere,
		"too long": make([]byte, MaxReceiptBytes+1)} {
		if got, err := b.refunds.Refund(t.Context(), in, 0); !errors.Is(err, ErrReceipt) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		if err := b.refunds.Deliver(t.Context(), append([]byte{0}, in...)); err != nil {
			t.Errorf("%s delivered: to come again: %v", name, err)
		}
	}
	if b.left(t, "daily") != 6 || b.refunds.Counts().Refused != 10 {
		t.Errorf("%d left, counted %+v", b.left(t, "daily"), b.refunds.Counts())
	}
}

// TestGiveBack: without a receipt, of refundable rules alone, never more than was
// taken, every time.
func TestGiveBack(t *testing.T) {
	b := newRefundBench(t)
	b.engine.Check(t.Context(), ask(5, "user", "u"))
	give := func(units, want int64) {
		t.Helper()
		if got, err := b.refunds.GiveBack(t.Context(), ask(units, "user", "u")); err != nil || got != want {
			t.Errorf("gave back %d, %v, want %d", got, err, want)
		}
	}
	give(2, 4)
	give(2, 4)
	give(2, 2) // one each is left
	give(2, 0)
	give(0, 0)
	if daily, kept := b.left(t, "daily"), b.left(t, "kept"); daily != 10 || kept != 95 {
		t.Errorf("left: daily %d, of a rule that is not refundable %d", daily, kept)
	}
	b.nowUs += 86_400e6
	b.engine.now = func() time.Time { return time.UnixMicro(b.nowUs - 86_400e6) } // this node is late
	b.engine.Check(t.Context(), ask(5, "user", "u"))
	give(1, 2)
}
