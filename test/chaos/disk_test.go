package chaos

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// disk is a small file system of a node's own.
type disk struct{ dir string }

const (
	diskBytes    = 8 << 20
	snapshotFile = "state.db"
	fillerFile   = "filler"
	// diskPrefix begins what is mounted, followed by the pid of the test.
	diskPrefix = "weir-chaos-"
)

// openDisk mounts a disk until the test ends.
func openDisk(t *testing.T, dir string) *disk {
	t.Helper()
	must(t, os.Mkdir(dir, 0o755))
	must(t, syscall.Mount(diskPrefix+strconv.Itoa(os.Getpid()), dir, "tmpfs", 0, "size="+strconv.Itoa(diskBytes)))
	t.Cleanup(func() { must(t, syscall.Unmount(dir, 0)) })
	return &disk{dir: dir}
}

func (d *disk) file(name string) string { return filepath.Join(d.dir, name) }

// fill leaves no byte free.
func (d *disk) fill() error {
	file, err := os.Create(d.file(fillerFile))
	if err != nil {
		return err
	}
	defer file.Close()
	block := bytes.NewReader(make([]byte, 4096))
	for {
		if _, err := io.Copy(file, block); errors.Is(err, syscall.ENOSPC) {
			return nil
		} else if err != nil {
			return err
		}
		block.Reset(make([]byte, 4096))
	}
}

// free undoes fill.
func (d *disk) free() error { return os.Remove(d.file(fillerFile)) }

// sweepDisks unmounts what a test that was killed left behind.
func sweepDisks(t *testing.T) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	must(t, err)
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !strings.HasPrefix(fields[0], diskPrefix) {
			continue
		}
		if _, err := os.Stat("/proc/" + strings.TrimPrefix(fields[0], diskPrefix)); errors.Is(err, os.ErrNotExist) {
			must(t, syscall.Unmount(fields[1], syscall.MNT_DETACH))
		}
	}
}
