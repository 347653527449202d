package rule

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestParseOvershoot(t *testing.T) {
	for text, want := range map[string]Overshoot{
		"0":           {},
		"0%":          {},
		"0.000000%":   {},
		"0.000001%":   {Share: 1},
		"0.5%":        {Share: 500_000},
		"1%":          {Share: 1_000_000},
		"1.50%":       {Share: 1_500_000},
		"007%":        {Share: 7_000_000},
		"33.333333%":  {Share: 33_333_333},
		"100%":        {Share: 100_000_000},
		"100.000000%": {Share: 100_000_000},
		"unbounded":   {Unbounded: true},
	} {
		if got, err := parseOvershoot(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func TestOvershootIsReadAsItIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Overshoot{Unbounded: rapid.Bool().Draw(t, "unbounded")}
		if !o.Unbounded {
			o.Share = rapid.Int64Range(0, wholeShare).Draw(t, "share")
		}
		if got, err := parseOvershoot(o.String()); err != nil || got != o {
			t.Fatalf("%v: %+v, %v", o, got, err)
		}
	})
}

func TestOvershootTotal(t *testing.T) {
	for _, c := range []struct {
		overshoot string
		limit     int64
		want      int64
	}{
		{"0", 100, 100},
		{"1%", 0, 0},
		{"1%", 99, 99},
		{"1%", 100, 101},
		{"1%", 199, 200},
		{"1%", 100_000, 101_000},
		{"0.5%", 1000, 1005},
		{"0.000001%", 99_999_999, 99_999_999},
		{"0.000001%", 100_000_000, 100_000_001},
		{"100%", 7, 14},
		{"33.333333%", 3, 3},
		{"1%", 1 << 53, 1 << 53},
		{"100%", 1<<53 - 1, 1 << 53},
		{"0", 1<<53 - 1, 1<<53 - 1},
		{"0.000001%", 1<<53 - 90_000_000, 1<<53 - 90_000_000 + 90_071_991},
		{"unbounded", 5, 1 << 53},
	} {
		o, err := parseOvershoot(c.overshoot)
		if err != nil {
			t.Fatal(err)
		}
		want := min(c.want, 1<<53)
		if got := o.Total(c.limit); got != want {
			t.Errorf("%s of %d: %d, want %d", c.overshoot, c.limit, got, want)
		}
	}
}

// Against arithmetic that has no bounds.
func TestOvershootTotalIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(0, maxQuota).Draw(t, "limit")
		share := rapid.Int64Range(0, wholeShare).Draw(t, "share")
		want := new(big.Int).Mul(big.NewInt(limit), big.NewInt(wholeShare+share))
		want.Div(want, big.NewInt(wholeShare))
		if ceiling := big.NewInt(maxQuota); want.Cmp(ceiling) > 0 {
			want = ceiling
		}
		if got := (Overshoot{Share: share}).Total(limit); fmt.Sprint(got) != want.String() {
			t.Fatalf("%d, want %s", got, want)
		}
	})
}
