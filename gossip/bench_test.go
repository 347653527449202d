package gossip

import (
	"fmt"
	"testing"
	"time"

	"weir/crdt"
)

// thousandRows are frames of 1 000 rows with keys of 31 bytes: new ones, and their
// changes once they are known.
func thousandRows(b *testing.B, changes int) (first []byte, deltas [][]byte) {
	us := testCore("us-1", "us")
	us.PeerUp(Peer{"eu-1", "eu"})
	var frames [][]byte
	for version := range changes + 1 {
		for i := range 1000 {
			record(us, testName(fmt.Sprintf("customer-%022d", i)), testEntry("us", uint64(100_000+version)))
		}
		for _, m := range tickOf(us, time.Duration(version)*2*freshFor, testNowUnix) {
			if frame := m.Frame(0); len(Decode(frame).rows) > 0 {
				frames = append(frames, frame)
			}
		}
		tickOf(us, time.Duration(version)*2*freshFor+freshFor, testNowUnix)
	}
	if len(frames) != changes+1 {
		b.Fatalf("%d frames", len(frames))
	}
	return frames[0], frames[1:]
}

func BenchmarkStepThousandRows(b *testing.B) {
	first, deltas := thousandRows(b, 4)
	b.ReportMetric(float64(len(first))/1000, "bytes/new-row")
	b.ReportMetric(float64(len(deltas[0]))/1000, "bytes/delta")
	b.ReportAllocs()
	var eu *Core
	for i := range b.N {
		if i%len(deltas) == 0 {
			b.StopTimer()
			eu = testCore("eu-1", "eu")
			if err := step(eu, 0, first); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		if err := step(eu, 0, deltas[i%len(deltas)]); err != nil {
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
