package region

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"weir/crdt"
)

const savedRows = 500

// nodeWithUnsavedRows returns a node that counted once for each of many keys and
// saved nothing.
func nodeWithUnsavedRows(t *testing.T) (n *Node, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "state.db")
	n = startNode(t, "eu", unsaved(path))
	for i := range savedRows {
		checkOnce(t, n, fmt.Sprintf("key-%03d", i))
	}
	return n, path
}

// wantSaved reads the snapshot of a stopped node.
func wantSaved(t *testing.T, path string) {
	t.Helper()
	p, err := newPersister(path, 0, quietLog)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := p.restore(t.Context(), func(row *crdt.Row) {
		if row.Value() != 1 {
			t.Errorf("%v holds %d", row.Name(), row.Value())
		}
	})
	if err := errors.Join(err, p.Close()); err != nil {
		t.Fatal(err)
	}
	if rows != savedRows {
		t.Errorf("saved %d rows, want %d", rows, savedRows)
	}
}

func TestWhatFailedToBeSavedIsSavedNextTime(t *testing.T) {
	n, path := nodeWithUnsavedRows(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.saver.save(ended); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if s := n.saver.Stats(); s.Failures != 1 || s.RowsSaved != 0 || n.mesh.Stats().RowsUnsaved != savedRows {
		t.Errorf("got %+v, %d rows unsaved", s, n.mesh.Stats().RowsUnsaved)
	}
	if err := n.saver.save(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := n.saver.Stats(); s.RowsSaved != savedRows || n.mesh.Stats().RowsUnsaved != 0 {
		t.Errorf("got %+v, %d rows unsaved", s, n.mesh.Stats().RowsUnsaved)
	}
	stopNode(t, n)
	wantSaved(t, path)
}

// A file that is damaged while it is open is set aside; the fresh one holds
// every row, those saved long ago too.
func TestADamagedSnapshotIsReplaced(t *testing.T) {
	n, path := nodeWithUnsavedRows(t)
	if err := n.saver.save(t.Context()); err != nil {
		t.Fatal(err)
	}
	damage(t, path)
	var one crdt.RowID
	n.mesh.Each(func(row *crdt.Row) { one = row.Name().ID() })
	n.mesh.MarkUnsaved(one)
	if err := n.saver.save(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := n.saver.Stats(); s.Failures != 1 || s.RowsSaved != 2*savedRows || s.SetAside == "" {
		t.Errorf("got %+v", s)
	}
	stopNode(t, n)
	wantSaved(t, path)
}

// damage overwrites all pages of an open snapshot but those that say where the
// others are.
func damage(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	kept := int64(2 * os.Getpagesize())
	_, err = f.WriteAt(bytes.Repeat([]byte{0xff}, int(info.Size()-kept)), kept)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}
