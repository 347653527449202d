package snapshot

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Errors of Open.
var (
	// ErrLocked says that another process has the file open.
	ErrLocked = errors.New("in use by another process")
	// ErrNewerFormat says that a newer Weir wrote the file. It is left as it is.
	ErrNewerFormat = errors.New("written by a newer version of weir")
	// ErrForeign says that the file is a bbolt file of another program. It is
	// left as it is.
	ErrForeign = errors.New("not a weir snapshot")
)

// Errors of Load, Save and DropEnded.
var (
	// ErrCorrupt says that the file was damaged while open. No later call
	// succeeds: Close it, Open it again (which sets it aside) and Save every
	// row.
	ErrCorrupt = errors.New("damaged")
	// ErrClosed says that Close was called.
	ErrClosed = errors.New("closed")
)

// lockTimeout bounds how long Open waits for another process to let go of the
// file: long enough for a predecessor that is closing it.
const lockTimeout = 500 * time.Millisecond

// File is an open snapshot. Its methods may be called from any goroutine.
type File struct {
	path string
	log  *slog.Logger
	db   *bbolt.DB
	os   *os.File // the descriptor that carries the lock; owned by db

	mu     sync.Mutex
	stats  Stats
	broken error // set once: why no call may touch db any more
}

// Stats tells how a File fares.
type Stats struct {
	// SizeBytes is the size of the file.
	SizeBytes int64
	// RowsSaved counts rows written and committed since Open.
	RowsSaved uint64
	// RowsSkipped counts damaged rows that Load left out since Open.
	RowsSkipped uint64
	// Failures counts calls of Load, Save and DropEnded that failed, those that
	// failed because their context ended included.
	Failures uint64
	// LastSave is when a Save last succeeded; zero when none did.
	LastSave time.Time
	// SetAside is where Open put a damaged file; empty when it found none.
	SetAside string
}

// Open opens the snapshot at path, or begins one where there is none. Its
// directory must exist. Errors are ErrLocked (within a second),
// ErrNewerFormat, ErrForeign and those of the file system.
func Open(path string, log *slog.Logger) (*File, error) {
	f, err := open(path, log)
	if errors.Is(err, ErrCorrupt) {
		f, err = reopen(path, log, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return f, nil
}

// reopen sets the damaged file at path aside and begins a fresh one.
func reopen(path string, log *slog.Logger, damage error) (*File, error) {
	aside, err := setAside(path, time.Now())
	if err != nil {
		return nil, fmt.Errorf("set aside a damaged file (%w): %w", damage, err)
	}
	log.Error("snapshot was damaged: set aside, a fresh one is begun and fills itself from peers",
		"path", path, "set_aside", aside, "damage", damage)
	f, err := open(path, log)
	if err != nil {
		return nil, err
	}
	f.stats.SetAside = aside
	return f, nil
}

// open opens path without forgiving damage.
func open(path string, log *slog.Logger) (*File, error) {
	f := &File{path: path, log: log}
	options := &bbolt.Options{
		Timeout:      lockTimeout,
		FreelistType: bbolt.FreelistMapType,
		NoStatistics: true,
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			file, err := openLocked(name, flag, mode)
			if err != nil {
				return nil, err
			}
			if err := checkPages(file); err != nil {
				return nil, errors.Join(err, file.Close())
			}
			f.os = file
			return file, nil
		},
	}
	err := guard(func() (err error) {
		f.db, err = bbolt.Open(path, 0o600, options)
		return err
	})
	if err == nil {
		err = guard(func() error { return checkFormat(f.db) })
	}
	if err != nil {
		return nil, errors.Join(err, f.release(err))
	}
	return f, nil
}

// release lets go of the file after a failed open.
func (f *File) release(cause error) error {
	switch {
	case f.os == nil:
		return nil
	case errors.Is(cause, ErrCorrupt) || f.db == nil:
		return unlockAndClose(f.os)
	default:
		return f.db.Close()
	}
}

// Close closes the file, after the calls that are running. A second call does
// nothing.
func (f *File) Close() error {
	f.mu.Lock()
	before := f.broken
	f.broken = ErrClosed
	f.mu.Unlock()
	var err error
	switch {
	case errors.Is(before, ErrClosed):
		return nil
	case errors.Is(before, ErrCorrupt):
		err = unlockAndClose(f.os) // bbolt's own Close may wait for a mutex for ever
	default:
		err = f.db.Close()
	}
	if err != nil {
		return fmt.Errorf("snapshot: close %s: %w", f.path, err)
	}
	return nil
}

// Stats returns the present figures.
func (f *File) Stats() Stats {
	info, err := os.Stat(f.path)
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.stats
	if err == nil {
		s.SizeBytes = info.Size()
	}
	return s
}

// view runs fn in a read transaction.
func (f *File) view(fn func(*bbolt.Tx) error) error {
	return f.use(func() error { return f.db.View(fn) })
}

// update runs fn in a write transaction and commits it.
func (f *File) update(fn func(*bbolt.Tx) error) error {
	return f.use(func() error { return f.db.Update(fn) })
}

// use runs fn, which uses db, unless the file is broken or closed, and marks
// the file broken when fn meets damage.
func (f *File) use(fn func() error) error {
	f.mu.Lock()
	err := f.broken
	f.mu.Unlock()
	if err != nil {
		return err
	}
	err = guard(fn)
	switch {
	case errors.Is(err, bolterrors.ErrDatabaseNotOpen):
		return ErrClosed
	case errors.Is(err, ErrCorrupt):
		f.mu.Lock()
		if f.broken == nil {
			f.broken = err
		}
		f.mu.Unlock()
		f.log.Error("snapshot is damaged: no more rows are saved until it is opened again",
			"path", f.path, "damage", err)
	}
	return err
}

// failed counts a failed call and says what failed; nil stays nil.
func (f *File) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	f.mu.Lock()
	f.stats.Failures++
	f.mu.Unlock()
	return fmt.Errorf("snapshot: %s %s: %w", what, f.path, err)
}

// guard turns what bbolt does on damaged pages, panics and page faults, into
// ErrCorrupt.
func guard(fn func() error) (err error) {
	before := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(before)
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrCorrupt, r)
		}
	}()
	return fn()
}
