package snapshot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	wirev1 "weir/proto/wire/v1"
)

const day = 86_400

// quiet is a log for tests that do not read it.
var quiet = slog.New(slog.DiscardHandler)

func mustOpen(t testing.TB, path string) *File {
	t.Helper()
	f, err := Open(path, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// testRow makes the row of key in the period that ends at end, with one entry
// for each of three regions.
func testRow(key string, end int64, version uint64) *wirev1.Row {
	row := &wirev1.Row{Rule: "daily", Key: key, StartUnixSeconds: end - day, EndUnixSeconds: end}
	for i, region := range []string{"ap-south", "eu-west", "us-east"} {
		row.Entries = append(row.Entries, &wirev1.Entry{
			RegionName: region, Replica: 0x0123456789abcdef + uint64(i),
			Version: version, Taken: version * 3, Returned: version / 2,
		})
	}
	return row
}

func testRows(n int, end int64, version uint64) []*wirev1.Row {
	rows := make([]*wirev1.Row, n)
	for i := range rows {
		rows[i] = testRow(fmt.Sprintf("sk_live_%08d", i), end, version)
	}
	return rows
}

// name identifies a row by everything but its entries.
func name(row *wirev1.Row) string {
	return fmt.Sprintf("%q %q %d %d %d", row.GetRule(), row.GetKey(),
		row.GetStartUnixSeconds(), row.GetEndUnixSeconds(), row.GetGeneration())
}

// loadAll loads every row by name and fails when a name comes twice.
func loadAll(t testing.TB, f *File) map[string]*wirev1.Row {
	t.Helper()
	rows := make(map[string]*wirev1.Row)
	n, err := f.Load(t.Context(), func(chunk []*wirev1.Row) error {
		for _, row := range chunk {
			if rows[name(row)] != nil {
				t.Errorf("row %s was given twice", name(row))
			}
			rows[name(row)] = row
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n != len(rows) {
		t.Fatalf("Load says %d rows, gave %d", n, len(rows))
	}
	return rows
}

func wantRows(t testing.TB, f *File, want map[string]*wirev1.Row) {
	t.Helper()
	got := loadAll(t, f)
	if len(got) != len(want) {
		t.Errorf("got %d rows, want %d", len(got), len(want))
	}
	for name, row := range want {
		if !proto.Equal(got[name], row) {
			t.Fatalf("row %s is %v, want %v", name, got[name], row)
		}
	}
}

func TestRowsComeBackAfterReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	f := mustOpen(t, path)
	want := make(map[string]*wirev1.Row)
	for _, end := range []int64{-day, 0, day, 20_000 * day} { // more than a chunk, in several periods
		rows := testRows(chunkRows/2+7, end, 9)
		if err := f.Save(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			want[name(row)] = row
		}
	}
	wantRows(t, f, want)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	g := mustOpen(t, path)
	wantRows(t, g, want)
	if s := g.Stats(); s.SetAside != "" || s.RowsSkipped != 0 || s.SizeBytes == 0 {
		t.Errorf("stats are %+v", s)
	}
}

// TestFileIsAMap compares a file with a Go map under random saves, drops and
// reopenings.
func TestFileIsAMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		path := filepath.Join(t.TempDir(), "state.db")
		f, err := Open(path, quiet)
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { f.Close() }()
		model := make(map[string]*wirev1.Row)
		genRow := rapid.Custom(func(rt *rapid.T) *wirev1.Row {
			row := testRow(rapid.StringN(0, 3, 4000).Draw(rt, "key"),
				rapid.Int64Range(-2, 3).Draw(rt, "end"), rapid.Uint64().Draw(rt, "version"))
			row.Rule = rapid.StringN(0, 2, -1).Draw(rt, "rule")
			row.Generation = rapid.Uint32Range(0, 1).Draw(rt, "generation")
			row.Entries = row.Entries[:rapid.IntRange(0, 3).Draw(rt, "entries")]
			return row
		})
		rt.Repeat(map[string]func(*rapid.T){
			"save": func(rt *rapid.T) {
				rows := rapid.SliceOfN(genRow, 0, 200).Draw(rt, "rows")
				if err := f.Save(t.Context(), rows); err != nil {
					rt.Fatal(err)
				}
				for _, row := range rows {
					model[name(row)] = row
				}
			},
			"drop": func(rt *rapid.T) {
				now := rapid.Int64Range(-3, 3).Draw(rt, "now")
				want := 0
				for name, row := range model {
					if row.GetEndUnixSeconds() <= now {
						want++
						delete(model, name)
					}
				}
				if got, err := f.DropEnded(now); err != nil || got != want {
					rt.Fatalf("DropEnded(%d) = %d, %v, want %d", now, got, err, want)
				}
			},
			"reopen": func(rt *rapid.T) {
				if err := f.Close(); err != nil {
					rt.Fatal(err)
				}
				if f, err = Open(path, quiet); err != nil {
					rt.Fatal(err)
				}
				if s := f.Stats(); s.SetAside != "" {
					rt.Fatalf("a sound file was set aside as %s", s.SetAside)
				}
			},
			"": func(*rapid.T) { wantRows(t, f, model) },
		})
	})
}

func TestSaveRefusesRowsWithoutRegionNames(t *testing.T) {
	f := mustOpen(t, filepath.Join(t.TempDir(), "state.db"))
	bad := testRow("b", day, 1)
	bad.Entries[1].RegionName = ""
	for what, row := range map[string]*wirev1.Row{"entries[1].region_name": bad, "nil": nil} {
		err := f.Save(t.Context(), []*wirev1.Row{testRow("a", day, 1), row})
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("error is %v, want one that says %s", err, what)
		}
	}
	wantRows(t, f, nil)
	if s := f.Stats(); s.Failures != 2 || s.RowsSaved != 0 || !s.LastSave.IsZero() {
		t.Errorf("stats are %+v", s)
	}
}

func TestContextAndYieldErrorsEndTheCall(t *testing.T) {
	f := mustOpen(t, filepath.Join(t.TempDir(), "state.db"))
	rows := testRows(2*chunkRows+1, day, 1)
	if err := f.Save(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n, err := f.Load(ctx, func([]*wirev1.Row) error { cancel(); return nil })
	if n != chunkRows || !errors.Is(err, context.Canceled) {
		t.Errorf("Load = %d, %v", n, err)
	}
	if err := f.Save(ctx, rows); !errors.Is(err, context.Canceled) {
		t.Errorf("Save = %v", err)
	}
	boom := errors.New("boom")
	if n, err := f.Load(t.Context(), func([]*wirev1.Row) error { return boom }); n != 0 || !errors.Is(err, boom) {
		t.Errorf("Load = %d, %v", n, err)
	}
	if s := f.Stats(); s.Failures != 3 {
		t.Errorf("stats are %+v", s)
	}
}

func TestClosedFileRefusesCalls(t *testing.T) {
	f := mustOpen(t, filepath.Join(t.TempDir(), "state.db"))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	_, loadErr := f.Load(t.Context(), func([]*wirev1.Row) error { return nil })
	_, dropErr := f.DropEnded(0)
	for _, err := range []error{f.Save(t.Context(), testRows(1, 0, 1)), loadErr, dropErr} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("error is %v, want ErrClosed", err)
		}
	}
}

func TestTheLaterOfTwoRowsCounts(t *testing.T) {
	f := mustOpen(t, filepath.Join(t.TempDir(), "state.db"))
	var rows []*wirev1.Row
	want := make(map[string]*wirev1.Row)
	for i := range uint64(500) {
		row := testRow(fmt.Sprint(i%7), day, i)
		rows = append(rows, row)
		want[name(row)] = row
	}
	if err := f.Save(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	wantRows(t, f, want)
}

// TestSaveAndLoadAtOnce saves, loads, drops and reads stats at the same time.
// A row that is loaded is one that was saved, whole.
func TestSaveAndLoadAtOnce(t *testing.T) {
	f := mustOpen(t, filepath.Join(t.TempDir(), "state.db"))
	if err := f.Save(t.Context(), testRows(3000, day, 1)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for worker := range uint64(2) {
		wg.Go(func() {
			for round := range uint64(10) {
				if err := f.Save(t.Context(), testRows(3000, day, 2+10*worker+round)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for range 10 {
			if _, err := f.DropEnded(0); err != nil {
				t.Error(err)
			}
		}
	})
	for range 10 {
		rows := loadAll(t, f)
		if len(rows) != 3000 {
			t.Fatalf("got %d rows, want 3000", len(rows))
		}
		for name, row := range rows {
			if want := testRow(row.GetKey(), day, row.GetEntries()[0].GetVersion()); !proto.Equal(row, want) {
				t.Fatalf("row %s is %v, want %v", name, row, want)
			}
		}
		f.Stats()
	}
	wg.Wait()
}

// TestYieldMaySave would wait for ever if Load kept a transaction open: the
// file has to be mapped anew to grow.
func TestYieldMaySave(t *testing.T) {
	f := mustOpen(t, filepath.Join(t.TempDir(), "state.db"))
	if err := f.Save(t.Context(), testRows(100, day, 1)); err != nil {
		t.Fatal(err)
	}
	_, err := f.Load(t.Context(), func([]*wirev1.Row) error {
		return f.Save(t.Context(), testRows(20_000, 2*day, 1))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSizeStaysBounded runs many periods through one file, with counters that
// grow, and expects room to be used again.
func TestSizeStaysBounded(t *testing.T) {
	f := mustOpen(t, filepath.Join(t.TempDir(), "state.db"))
	const rows = 1000
	var early int64
	for period := range int64(40) {
		for round := range uint64(5) {
			all := testRows(rows, period*day, 1<<(8*round))
			if err := f.Save(t.Context(), all[:rows/2+int(round)*rows/10]); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := f.DropEnded((period - 1) * day); err != nil {
			t.Fatal(err)
		}
		if period == 5 {
			early = f.Stats().SizeBytes
		}
	}
	if last := f.Stats().SizeBytes; last > early*3/2 {
		t.Errorf("the file grew from %d to %d bytes over 35 periods of %d rows", early, last, rows)
	}
}
