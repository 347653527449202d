package snapshot

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
	"google.golang.org/protobuf/proto"

	wirev1 "weir/proto/wire/v1"
)

func testSplits(weights ...uint32) *wirev1.Splits {
	split := &wirev1.Split{}
	for i, w := range weights {
		split.Weights = append(split.Weights, &wirev1.SplitWeight{Region: strings.Repeat("r", i+1), Weight: w})
	}
	return &wirev1.Splits{Versions: []*wirev1.SplitVersion{{Version: 1, Rivals: []*wirev1.Split{split}}}}
}

func wantSplits(t testing.TB, f *File, want *wirev1.Splits) {
	t.Helper()
	got, err := f.LoadSplits()
	if err != nil || !proto.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

// TestSplitsComeBack beside the rows, however large; the last ones saved.
func TestSplitsComeBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	f := mustOpen(t, path)
	wantSplits(t, f, nil)
	large := testSplits(make([]uint32, 600)...)
	for _, s := range []*wirev1.Splits{testSplits(1, 2), large, testSplits(3, 1)} {
		if err := f.SaveSplits(s); err != nil {
			t.Fatal(err)
		}
		wantSplits(t, f, s)
		if err := f.Save(t.Context(), testRows(50, day, 1)); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		f = mustOpen(t, path)
		wantSplits(t, f, s)
	}
	if rows := loadAll(t, f); len(rows) != 50 {
		t.Errorf("%d rows beside them", len(rows))
	}
	if _, err := f.DropEnded(day); err != nil {
		t.Fatal(err)
	}
	wantSplits(t, f, testSplits(3, 1))
}

// TestDamagedSplitsAreSaid; the rows are as they were.
func TestDamagedSplitsAreSaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	f := mustOpen(t, path)
	if err := errors.Join(f.SaveSplits(testSplits(1, 2)), f.Save(t.Context(), testRows(5, day, 1)), f.Close()); err != nil {
		t.Fatal(err)
	}
	writeBolt(t, path, func(tx *bbolt.Tx) error {
		meta := tx.Bucket(metaBucket)
		value := append([]byte(nil), meta.Get(splitsKey)...)
		value[len(value)-1]++
		return meta.Put(splitsKey, value)
	})
	f = mustOpen(t, path)
	if got, err := f.LoadSplits(); !errors.Is(err, ErrSplits) {
		t.Errorf("got %v, %v", got, err)
	}
	if rows := loadAll(t, f); len(rows) != 5 {
		t.Errorf("%d rows", len(rows))
	}
}
