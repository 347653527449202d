package snapshot

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	wirev1 "weir/proto/wire/v1"
)

// childVar names what a child process of these tests is to do.
const childVar = "WEIR_SNAPSHOT_TEST_CHILD"

func TestMain(m *testing.M) {
	var err error
	switch what := os.Getenv(childVar); what {
	case "":
		os.Exit(m.Run())
	case "save rounds":
		err = saveRounds(os.Args[1])
	case "fill disk":
		err = fillDisk(os.Args[1])
	case "exceed file size":
		err = exceedFileSize(os.Args[1])
	default:
		err = fmt.Errorf("unknown task %q", what)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child is this test binary with a task of its own.
func child(ctx context.Context, task, path string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], path)
	cmd.Env = append(os.Environ(), childVar+"="+task)
	return cmd
}

// crashRows is how many rows a round of saveRounds writes, in one transaction.
const crashRows = 2000

// saveRounds saves the same rows again and again and says which round is on
// disk.
func saveRounds(path string) error {
	f, err := Open(path, quiet)
	if err != nil {
		return err
	}
	for round := uint64(1); ; round++ {
		if err := f.Save(context.Background(), testRows(crashRows, day, round)); err != nil {
			return err
		}
		fmt.Println(round)
	}
}

// TestKilledWhileSaving kills a process at random moments: what was said to be
// on disk is there, and a round is there whole or not at all.
func TestKilledWhileSaving(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	for range 8 {
		said := killedRound(t, path)
		f, err := Open(path, quiet)
		if err != nil {
			t.Fatal(err)
		}
		if aside := f.Stats().SetAside; aside != "" {
			t.Fatalf("the file was damaged and set aside as %s", aside)
		}
		found := uint64(0)
		for name, row := range loadAll(t, f) {
			version := row.GetEntries()[0].GetVersion()
			if found == 0 {
				found = version
			}
			if version != found {
				t.Fatalf("row %s is of round %d, another of %d", name, version, found)
			}
		}
		if found != said && found != said+1 {
			t.Errorf("round %d was on disk, %d was found", said, found)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// killedRound runs saveRounds, kills it some time after its first round and
// returns the last round it said was on disk.
func killedRound(t *testing.T, path string) (said uint64) {
	t.Helper()
	cmd := child(t.Context(), "save rounds", path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	var kill *time.Timer
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if said, err = strconv.ParseUint(strings.TrimSpace(line), 10, 64); err != nil {
			t.Fatal(err)
		}
		if kill == nil {
			kill = time.AfterFunc(time.Duration(rand.Int64N(int64(60*time.Millisecond))), func() { _ = cmd.Process.Kill() })
		}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended with %v before it was killed", err)
	}
	return said
}

// TestFullDisk fills a small disk of its own.
func TestFullDisk(t *testing.T) {
	cmd := child(t.Context(), "fill disk", t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// fillDisk mounts a disk of 4 MiB at dir, visible to this process only, and
// saves until it is full.
func fillDisk(dir string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 2<<20), 0o600); err != nil {
		return err
	}
	return outlastLimit(filepath.Join(dir, "state.db"), syscall.ENOSPC, func() error { return os.Remove(ballast) })
}

// TestFileSizeLimit is a full disk of another kind: the file may not grow.
func TestFileSizeLimit(t *testing.T) {
	cmd := child(t.Context(), "exceed file size", filepath.Join(t.TempDir(), "state.db"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// exceedFileSize saves to path until the file may not grow.
func exceedFileSize(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 2 << 20, Max: 1 << 40}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	return outlastLimit(path, syscall.EFBIG, func() error {
		limit.Cur = limit.Max
		return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
	})
}

// outlastLimit saves periods to path until a save fails with full, sees that
// the file can still be read and written, makes room, and expects what was
// saved before and after, and nothing else.
func outlastLimit(path string, full error, makeRoom func() error) error {
	ctx := context.Background()
	f, err := Open(path, quiet)
	if err != nil {
		return err
	}
	saved := 0
	for ; err == nil; saved++ {
		if saved > 1000 {
			return errors.New("the disk never got full")
		}
		err = f.Save(ctx, testRows(1000, int64(saved+1)*day, 1))
	}
	saved--                                           // the last one failed
	if !strings.Contains(err.Error(), full.Error()) { // bbolt does not wrap all its errors
		return fmt.Errorf("save failed with %w, want %w", err, full)
	}
	for range 3 { // failing again does no harm
		if err := f.Save(ctx, testRows(1000, int64(saved+1)*day, 1)); err == nil || !strings.Contains(err.Error(), full.Error()) {
			return fmt.Errorf("save failed with %w, want %w", err, full)
		}
	}
	if err := wantPeriods(ctx, f, 1, saved); err != nil {
		return err
	}
	if err := makeRoom(); err != nil {
		return err
	}
	if err := f.Save(ctx, testRows(1000, int64(saved+1)*day, 1)); err != nil {
		return fmt.Errorf("save with room: %w", err)
	}
	if _, err := f.DropEnded(day); err != nil {
		return err
	}
	if err := wantPeriods(ctx, f, 2, saved+1); err != nil {
		return err
	}
	if s := f.Stats(); s.Failures != 4 {
		return fmt.Errorf("stats are %+v", s)
	}
	if err := f.Close(); err != nil {
		return err
	}
	if f, err = Open(path, quiet); err != nil {
		return err
	}
	if s := f.Stats(); s.SetAside != "" {
		return fmt.Errorf("stats after reopening are %+v", s)
	}
	return errors.Join(wantPeriods(ctx, f, 2, saved+1), f.Close())
}

// wantPeriods expects 1000 rows in each of the periods from first to last, and
// no others.
func wantPeriods(ctx context.Context, f *File, first, last int) error {
	rows := make(map[int64]int)
	n, err := f.Load(ctx, func(chunk []*wirev1.Row) error {
		for _, row := range chunk {
			rows[row.GetEndUnixSeconds()/day]++
		}
		return nil
	})
	if err != nil {
		return err
	}
	for period := first; period <= last; period++ {
		if rows[int64(period)] != 1000 {
			return fmt.Errorf("period %d has %d rows", period, rows[int64(period)])
		}
	}
	if want := 1000 * (last - first + 1); n != want {
		return fmt.Errorf("%d rows were loaded, want %d", n, want)
	}
	return nil
}
