package snapshot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// setAsideMax bounds how many damaged files are kept beside a snapshot.
const setAsideMax = 5

// openLocked opens a file and takes bbolt's lock on it, so that it can be
// examined before bbolt maps it. bbolt then takes the same lock again, which
// succeeds at once because it is the same open file.
func openLocked(name string, flag int, mode os.FileMode) (*os.File, error) {
	deadline := time.Now().Add(lockTimeout)
	for {
		file, err := os.OpenFile(name, flag, mode)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil && stillNamed(file, name) {
			return file, nil
		}
		if closeErr := file.Close(); closeErr != nil {
			return nil, closeErr
		}
		if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock: %w", err)
		}
		if time.Now().After(deadline) {
			return nil, ErrLocked
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// unlockAndClose closes a file that bbolt may have closed already. Closing
// alone would not unlock it where bbolt left it mapped.
func unlockAndClose(file *os.File) error {
	raw, err := file.SyscallConn()
	if err == nil {
		var unlockErr error
		err = raw.Control(func(fd uintptr) { unlockErr = syscall.Flock(int(fd), syscall.LOCK_UN) })
		err = errors.Join(err, unlockErr)
	}
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return errors.Join(err, file.Close())
}

// stillNamed reports whether name still leads to file: another process may
// have set the file aside while this one waited for the lock.
func stillNamed(file *os.File, name string) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(name)
	return err == nil && os.SameFile(opened, named)
}

// setAside renames a damaged file to a new name, which it returns, and removes
// the oldest damaged files above setAsideMax.
func setAside(path string, now time.Time) (string, error) {
	prefix := path + ".corrupt-"
	aside := prefix + strconv.FormatInt(now.Unix(), 10)
	for n := 1; ; n++ {
		if _, err := os.Lstat(aside); errors.Is(err, os.ErrNotExist) {
			break
		}
		aside = fmt.Sprintf("%s%d.%d", prefix, now.Unix(), n)
	}
	if err := os.Rename(path, aside); err != nil {
		return "", err
	}
	return aside, removeOldest(prefix)
}

// removeOldest removes the oldest files whose names begin with prefix until
// setAsideMax are left.
func removeOldest(prefix string) error {
	entries, err := os.ReadDir(filepath.Dir(prefix))
	if err != nil {
		return err
	}
	type aged struct {
		name     string
		modified time.Time
	}
	var files []aged
	base := filepath.Base(prefix)
	for _, e := range entries {
		if len(e.Name()) <= len(base) || e.Name()[:len(base)] != base {
			continue
		}
		if info, err := e.Info(); err == nil {
			files = append(files, aged{filepath.Join(filepath.Dir(prefix), e.Name()), info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b aged) int { return b.modified.Compare(a.modified) })
	for _, file := range files[min(setAsideMax, len(files)):] {
		if err := os.Remove(file.name); err != nil {
			return err
		}
	}
	return nil
}
