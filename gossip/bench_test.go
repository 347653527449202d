package gossip

import (
	"fmt"
	"testing"

	"weir/crdt"
)

// thousandRows is a frame of 1 000 changed rows with keys of 31 bytes.
func thousandRows(b *testing.B, version uint64) []byte {
	us := testCore("us-1", "us")
	us.PeerUp(Peer{"eu-1", "eu"})
	for i := range 1000 {
		record(us, testName(fmt.Sprintf("customer-%022d", i)), testEntry("us", version))
	}
	m := tickOf(us, 0, testNowUnix)
	if len(m) != 1 {
		b.Fatalf("%d frames", len(m))
	}
	return m[0].Frame(0)
}

func BenchmarkStepThousandRows(b *testing.B) {
	frames := [][]byte{thousandRows(b, 1), thousandRows(b, 2), thousandRows(b, 3), thousandRows(b, 4)}
	b.ReportMetric(float64(len(frames[0]))/1000, "bytes/row")
	b.ReportAllocs()
	var eu *Core
	for i := range b.N {
		if i%len(frames) == 0 {
			b.StopTimer()
			eu = testCore("eu-1", "eu")
			b.StartTimer()
		}
		if err := step(eu, 0, frames[i%len(frames)]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/row")
}

func BenchmarkRecord(b *testing.B) {
	for _, rows := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			eu, names := testCore("eu-1", "eu"), make([]crdt.RowName, rows)
			for i := range names {
				names[i] = testName(fmt.Sprintf("customer-%022d", i))
			}
			b.ReportAllocs()
			for i := range b.N {
				record(eu, names[i%rows], testEntry("eu", uint64(i/rows+1)))
			}
		})
	}
}

// BenchmarkTick sends 1 000 changed rows to five peers.
func BenchmarkTick(b *testing.B) {
	eu, names := testCore("eu-1", "eu"), make([]crdt.RowName, 1000)
	for _, p := range sixNodes() {
		eu.PeerUp(p)
	}
	for i := range names {
		names[i] = testName(fmt.Sprintf("customer-%022d", i))
	}
	b.ReportAllocs()
	for i := range b.N {
		b.StopTimer()
		for _, n := range names {
			record(eu, n, testEntry("eu", uint64(i+1)))
		}
		b.StartTimer()
		tickOf(eu, 0, testNowUnix)
	}
}
