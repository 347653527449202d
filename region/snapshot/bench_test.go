package snapshot

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	wirev1 "weir/proto/wire/v1"
)

const benchRows = 1_000_000

// benchFile makes a file of a million rows of one period.
func benchFile(b *testing.B) (path string, rows []*wirev1.Row) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "state.db")
	rows = testRows(benchRows, day, 1000)
	f := mustOpen(b, path)
	if err := f.Save(b.Context(), rows); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(f.Stats().SizeBytes)/benchRows, "B/row")
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return path, rows
}

// BenchmarkOpenAndLoad opens a file of a million rows and loads them.
func BenchmarkOpenAndLoad(b *testing.B) {
	path, _ := benchFile(b)
	for b.Loop() {
		f, err := Open(path, quiet)
		if err != nil {
			b.Fatal(err)
		}
		n, err := f.Load(b.Context(), func([]*wirev1.Row) error { return nil })
		if err != nil || n != benchRows {
			b.Fatalf("loaded %d rows: %v", n, err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen opens a file of a million rows: its pages are checked.
func BenchmarkOpen(b *testing.B) {
	path, _ := benchFile(b)
	for b.Loop() {
		f, err := Open(path, quiet)
		if err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSave saves ten thousand random rows of a million.
func BenchmarkSave(b *testing.B) {
	path, rows := benchFile(b)
	f := mustOpen(b, path)
	dirty := make([]*wirev1.Row, 10_000)
	for b.Loop() {
		for i := range dirty {
			dirty[i] = rows[rand.IntN(benchRows)]
			for _, e := range dirty[i].GetEntries() {
				e.Version++
				e.Taken += 5
			}
		}
		if err := f.Save(b.Context(), dirty); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(f.Stats().SizeBytes)/benchRows, "B/row")
}

// BenchmarkSaveNew saves a million new rows.
func BenchmarkSaveNew(b *testing.B) {
	rows := testRows(benchRows, day, 1000)
	for i := 0; b.Loop(); i++ {
		f := mustOpen(b, filepath.Join(b.TempDir(), fmt.Sprintf("state-%d.db", i)))
		if err := f.Save(b.Context(), rows); err != nil {
			b.Fatal(err)
		}
	}
}
