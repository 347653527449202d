package limiter

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/limiter/rule"
	"weir/limiter/store/embedded"
)

// BenchmarkCheck is the whole engine over the embedded store: matching,
// identity, decision and report, on 1 000 keys.
func BenchmarkCheck(b *testing.B) {
	for _, rules := range []int{1, 10} {
		b.Run(fmt.Sprintf("rules=%d", rules), func(b *testing.B) {
			var text strings.Builder
			text.WriteString("rules:\n")
			for i := range rules {
				fmt.Fprintf(&text, "  - {name: r%d, count_by: [key], limit: %d000000/s}\n", i, i+1)
			}
			set, err := rule.Parse("rules.yaml", []byte(text.String()))
			if err != nil {
				b.Fatal(err)
			}
			e := NewEngine(set, embedded.New(embedded.Options{}), new(recorder), time.Now)
			reqs := make([]*Request, 1000)
			for i := range reqs {
				reqs[i] = &Request{Attributes: map[string]string{"key": fmt.Sprintf("sk_live_%08d", i)}, Cost: 1}
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if d := e.Check(context.Background(), reqs[i%len(reqs)]); !d.Allowed {
					b.Fatal(d)
				}
			}
		})
	}
}
