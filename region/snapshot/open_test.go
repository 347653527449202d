package snapshot

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

func TestLockedFileIsSaidWithinASecond(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	mustOpen(t, path)
	start := time.Now()
	_, err := Open(path, quiet)
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), path) {
		t.Errorf("error is %v, want ErrLocked with the path", err)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("took %v", took)
	}
}

func TestOpenWaitsForAPredecessor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	f := mustOpen(t, path)
	closed := make(chan error, 1)
	time.AfterFunc(100*time.Millisecond, func() { closed <- f.Close() })
	mustOpen(t, path)
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// writeBolt writes a bbolt file without this package.
func writeBolt(t *testing.T, path string, fn func(*bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(fn), db.Close()); err != nil {
		t.Fatal(err)
	}
}

func setFormat(version ...byte) func(*bbolt.Tx) error {
	return func(tx *bbolt.Tx) error {
		meta, err := tx.CreateBucketIfNotExists(metaBucket)
		if err != nil {
			return err
		}
		return meta.Put(formatKey, version)
	}
}

func TestFilesOfOthersAreRefusedAndKept(t *testing.T) {
	tests := []struct {
		name  string
		write func(*bbolt.Tx) error
		want  error
		says  string
	}{
		{"newer", setFormat(0, 0, 0, formatVersion+1), ErrNewerFormat, "format is 2"},
		{"older", setFormat(0, 0, 0, 0), ErrForeign, "unknown format 0"},
		{"no number", setFormat(1), ErrForeign, "no format version"},
		{"other program", func(tx *bbolt.Tx) error {
			_, err := tx.CreateBucket([]byte("users"))
			return err
		}, ErrForeign, "users"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "state.db")
			writeBolt(t, path, tt.write)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Open(path, quiet); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error is %v, want %v that says %q", err, tt.want, tt.says)
			}
			after, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file changed (%v)", err)
			}
			if names, _ := filepath.Glob(path + ".*"); len(names) != 0 {
				t.Errorf("found %v", names)
			}
		})
	}
}

func TestFileSystemErrorsAreNotDamage(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "missing", "state.db")} {
		if _, err := Open(path, quiet); err == nil || errors.Is(err, ErrCorrupt) {
			t.Errorf("error is %v", err)
		}
	}
}

func TestDamagedFileIsSetAsideLoudly(t *testing.T) {
	tests := map[string]func([]byte) []byte{
		"text":           func([]byte) []byte { return []byte("region: eu-west\n") },
		"zeros":          func(b []byte) []byte { return make([]byte, len(b)) },
		"cut short":      func(b []byte) []byte { return b[:len(b)/2] },
		"one page":       func(b []byte) []byte { return b[:os.Getpagesize()] },
		"pages zeroed":   func(b []byte) []byte { clear(b[2*os.Getpagesize():]); return b },
		"pages shuffled": func(b []byte) []byte { p := os.Getpagesize(); copy(b[3*p:4*p], b[9*p:]); return b },
	}
	for what, damage := range tests {
		t.Run(what, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			f := mustOpen(t, path)
			if err := errors.Join(f.Save(t.Context(), testRows(2000, day, 1)), f.Close()); err != nil {
				t.Fatal(err)
			}
			sound, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			broken := damage(sound)
			if err := os.WriteFile(path, broken, 0o600); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			g, err := Open(path, slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			aside := g.Stats().SetAside
			kept, err := os.ReadFile(aside)
			if err != nil || !bytes.Equal(kept, broken) || !strings.HasPrefix(aside, path+".corrupt-") {
				t.Errorf("set aside as %q (%v), not what was there", aside, err)
			}
			if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), aside) {
				t.Errorf("the log says %q", log.String())
			}
			wantRows(t, g, nil)
			if err := g.Save(t.Context(), testRows(10, day, 1)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNewestDamagedFilesAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	var last string
	for range setAsideMax + 3 {
		if err := os.WriteFile(path, []byte("no snapshot"), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path, quiet)
		if err != nil {
			t.Fatal(err)
		}
		last = f.Stats().SetAside
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	names, err := filepath.Glob(path + ".corrupt-*")
	if err != nil || len(names) != setAsideMax {
		t.Errorf("kept %v (%v), want %d", names, err, setAsideMax)
	}
	if _, err := os.Stat(last); err != nil {
		t.Error(err)
	}
}

// TestPanicsBreakTheFileOnly has a panic rise from the database, as damaged
// pages make it: the call fails, the file refuses further calls and can be
// opened again.
func TestPanicsBreakTheFileOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	f := mustOpen(t, path)
	if err := f.Save(t.Context(), testRows(10, day, 1)); err != nil {
		t.Fatal(err)
	}
	err := f.failed("save to", f.update(func(*bbolt.Tx) error { panic("page 7 already freed") }))
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "page 7") {
		t.Errorf("error is %v", err)
	}
	if err := f.Save(t.Context(), testRows(10, day, 2)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("error is %v", err)
	}
	if s := f.Stats(); s.Failures != 2 {
		t.Errorf("stats are %+v", s)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if rows := loadAll(t, mustOpen(t, path)); len(rows) != 10 {
		t.Errorf("got %d rows", len(rows))
	}
}
