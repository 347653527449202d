package acceptance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// process is a child of a test. It ends with the test at the latest, by its
// pid; what it said is shown if the test failed.
type process struct {
	name           string
	cmd            *exec.Cmd
	stdout, stderr transcript
	ended          chan struct{}
}

// launch starts a program in a folder. Variables are set in addition to the
// test's own, without any that weir would read.
func launch(t *testing.T, name, dir string, variables []string, argv ...string) *process {
	t.Helper()
	p := &process{name: name, cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Env = append(cleanEnviron(), variables...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.SysProcAttr = dieWithParent()
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // ProcessState tells
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s (pid %d) ended with %v and said:\n%s%s", name, p.cmd.Process.Pid, p.cmd.ProcessState,
				p.stdout.tail(40), p.stderr.tail(80))
		}
	})
	return p
}

func cleanEnviron() (kept []string) {
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "WEIR_") {
			kept = append(kept, pair)
		}
	}
	return kept
}

// signal sends a signal unless the process has ended.
func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatalf("%v to %s: %v", s, p.name, err)
	}
}

// kill is kill -9; it returns when the process has ended.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.ended
}

// wait returns the exit code, or fails when the process runs for longer.
func (p *process) wait(t *testing.T, within time.Duration) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(within):
		t.Fatalf("%s still runs after %v", p.name, within)
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// run runs weir to its end in a folder.
func run(t *testing.T, dir string, variables []string, args ...string) *process {
	t.Helper()
	p := launch(t, "weir "+strings.Join(args, " "), dir, variables, append([]string{binary(t)}, args...)...)
	p.wait(t, 30*time.Second)
	return p
}

func (p *process) exitCode() int { return p.cmd.ProcessState.ExitCode() }

// transcript keeps what a process says, up to a bound.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

const maxTranscript = 4 << 20

func (s *transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if room := maxTranscript - s.text.Len(); room > 0 {
		s.text.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// lines are the complete lines that contain a text.
func (s *transcript) lines(containing string) (found []string) {
	for line := range strings.Lines(s.String()) {
		if strings.HasSuffix(line, "\n") && strings.Contains(line, containing) {
			found = append(found, strings.TrimSuffix(line, "\n"))
		}
	}
	return found
}

func (s *transcript) tail(count int) string {
	lines := s.lines("")
	return strings.Join(lines[max(0, len(lines)-count):], "\n") + "\n"
}

// eventually asks until there is no error, or fails with the last one.
func eventually(t *testing.T, within time.Duration, what string, ask func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		err := ask(ctx)
		if err == nil {
			return
		}
		if last == nil || status.Code(err) != codes.DeadlineExceeded {
			last = err // a question that the end cut short says nothing
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: not within %v: %v", what, within, last)
		}
	}
}

// pause waits for a time that the case itself is about: an idle client, a
// retry-after.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}

// awayFromMidnight keeps a case that counts by the day within one: when the
// day is about to end, it waits for the next.
func awayFromMidnight(t *testing.T, length time.Duration) {
	t.Helper()
	const day = 24 * time.Hour
	now := time.Now()
	if left := now.Truncate(day).Add(day).Sub(now); left < length {
		t.Logf("the day ends in %v; waiting for the next", left)
		pause(t, left+time.Second)
	}
}

// differences tells the first few keys whose counts are not those wanted.
func differences(got, want map[string]int64) error {
	var texts []string
	count := 0
	note := func(key string) {
		if got[key] == want[key] {
			return
		}
		if count++; count <= 3 {
			texts = append(texts, fmt.Sprintf("%s: %d, want %d", key, got[key], want[key]))
		}
	}
	for key := range want {
		note(key)
	}
	for key := range got {
		if _, known := want[key]; !known {
			note(key)
		}
	}
	if count == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d keys differ: %s", count, len(want), strings.Join(texts, "; "))
}
