package limiter

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/limiter/quota"
	"weir/limiter/store"
)

func drawReceipt(t *rapid.T) receipt {
	r := receipt{region: rapid.StringN(1, 20, 128).Filter(func(s string) bool { return s != "" }).Draw(t, "region")}
	copy(r.request[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "request"))
	for range rapid.IntRange(1, 5).Draw(t, "charges") {
		start := rapid.Int64Range(-1<<40, 1<<40).Draw(t, "start")
		r.charges = append(r.charges, charge{
			row: store.RowName{Rule: rapid.StringN(1, 20, 60).Draw(t, "rule"), Key: rapid.StringN(0, 50, 200).Draw(t, "key"),
				Start: start, End: start + rapid.Int64Range(1, 1<<30).Draw(t, "length"),
				Generation: rapid.Uint32().Draw(t, "generation")},
			reign: store.Reign(rapid.Uint64Min(1).Draw(t, "reign")), tag: rapid.Uint16Max(store.Tags-1).Draw(t, "tag"),
			cost: rapid.Int64Range(1, quota.MaxUnits).Draw(t, "cost"),
		})
	}
	return r
}

func (r *receipt) encode(s Secret) []byte {
	b := appendReceiptHead(nil, r.region, r.request)
	for _, c := range r.charges {
		b = appendCharge(b, c)
	}
	return append(b, s.mac(b)...)
}

// TestReceiptsAreReadAsWritten, and with any bit changed or any end cut off they
// are refused.
func TestReceiptsAreReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawReceipt(t)
		keys := NewReceipts(want.region)
		secret := NewSecret()
		keys.SetSecret(secret)
		b := want.encode(secret)
		got, err := keys.open(b)
		if err != nil || got.region != want.region || got.request != want.request || len(got.charges) != len(want.charges) {
			t.Fatalf("got %+v, %v, want %+v", got, err, want)
		}
		for i, c := range got.charges {
			if c != want.charges[i] {
				t.Fatalf("charge %d: got %+v, want %+v", i, c, want.charges[i])
			}
		}
		if cut := b[:rapid.IntRange(0, len(b)-1).Draw(t, "cut")]; opens(keys, cut) {
			t.Fatalf("cut to %d of %d bytes it was opened", len(cut), len(b))
		}
		forged := bytes.Clone(b)
		forged[rapid.IntRange(0, len(b)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if opens(keys, forged) || opens(keys, append(bytes.Clone(b), 0)) {
			t.Fatal("changed it was opened")
		}
		if other := want.encode(NewSecret()); opens(keys, other) {
			t.Fatal("under another secret it was opened")
		}
	})
}

func opens(r *Receipts, b []byte) bool {
	_, err := r.open(b)
	return !errors.Is(err, ErrReceipt)
}

// TestTheSecretBeforeIsKnown, and the one before that is not.
func TestTheSecretBeforeIsKnown(t *testing.T) {
	r := receipt{region: "eu", charges: []charge{{row: store.RowName{Rule: "r", End: 1}, reign: 1, cost: 1}}}
	keys := NewReceipts("eu")
	first, second := NewSecret(), NewSecret()
	if b := r.encode(first); opens(keys, b) {
		t.Error("opened without a secret")
	}
	keys.SetSecret(first)
	keys.SetSecret(first)
	keys.SetSecret(second)
	keys.SetSecret(second)
	if !opens(keys, r.encode(first)) || !opens(keys, r.encode(second)) {
		t.Error("the secret before was forgotten")
	}
	keys.SetSecret(NewSecret())
	if opens(keys, r.encode(first)) {
		t.Error("a secret that was replaced twice is still known")
	}
}

// TestReceiptsAreBounded: what does not fit is left out and counted.
func TestReceiptsAreBounded(t *testing.T) {
	b := newRefundBench(t)
	attrs := []string{"a", strings.Repeat("k", 200)}
	d := b.engine.Check(t.Context(), ask(1, attrs...))
	if !d.Allowed || len(d.Receipt) == 0 || len(d.Receipt) > MaxReceiptBytes {
		t.Fatalf("a receipt of %d bytes: %+v", len(d.Receipt), d)
	}
	got, err := b.receipts.open(d.Receipt)
	if err != nil || len(got.charges) == 0 || len(got.charges)+int(b.receipts.Unnamed()) != manyRules {
		t.Errorf("it names %d charges, %d were left out, %v; want %d in all", len(got.charges), b.receipts.Unnamed(), err, manyRules)
	}
}

func FuzzReceipt(f *testing.F) {
	r := receipt{region: "eu", charges: []charge{{row: store.RowName{Rule: "r", Key: "k", Start: 86_400, End: 172_800, Generation: 3}, reign: 7, tag: 9, cost: 300}}}
	f.Add(r.encode(Secret{}))
	r.charges = append(r.charges, r.charges[0])
	f.Add(r.encode(Secret{1}))
	f.Add([]byte{receiptVersion})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decodeReceipt(b)
		if err != nil {
			if !errors.Is(err, ErrReceipt) {
				t.Fatalf("%v does not say that it is no receipt", err)
			}
			return
		}
		if again := got.encode(Secret{}); !bytes.Equal(again[:len(again)-macBytes], b[:len(b)-macBytes]) {
			t.Fatalf("%x reads as %+v, which is written %x", b, got, again)
		}
		if opens(NewReceipts(got.region), b) {
			t.Fatal("opened without a secret")
		}
	})
}

// BenchmarkReceipt is what a receipt of two quotas adds to a check.
func BenchmarkReceipt(b *testing.B) {
	r := receipt{region: "eu", charges: []charge{{row: store.RowName{Rule: "daily", Key: "sk_live_00000001", Start: 86_400, End: 172_800}, reign: 7, tag: 9, cost: 3}}}
	r.charges = append(r.charges, r.charges[0])
	secret := NewSecret()
	keys := NewReceipts("eu")
	keys.SetSecret(secret)
	b.Run("seal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.encode(secret)
		}
	})
	sealed := r.encode(secret)
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := keys.open(sealed); err != nil {
				b.Fatal(err)
			}
		}
	})
}
