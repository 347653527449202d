package chaos

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a program in a namespace. It dies with the test.
type process struct {
	name  string
	space *namespace
	args  []string
	log   string // path; output of every life is appended

	mu   sync.Mutex
	cmd  *exec.Cmd // nil while it does not run
	dead chan struct{}
}

// stopWithin bounds how long a process may take to end in peace.
const stopWithin = 15 * time.Second

// start begins another life of the process.
func (p *process) start() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()                                                                        // the child has its own
	cmd := exec.Command("ip", append([]string{"netns", "exec", p.space.name}, p.args...)...) // exec: ip becomes the program
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	dead := make(chan struct{})
	go func() { _ = cmd.Wait(); close(dead) }() // how it ended stands in its log
	p.cmd, p.dead = cmd, dead
	return nil
}

// kill ends the process as kill -9 does and returns when it is gone.
func (p *process) kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return nil
	}
	if p.ended() {
		p.cmd = nil
		return fmt.Errorf("%s ended by itself; its log ends:\n%s", p.name, p.tail())
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	<-p.dead
	p.cmd = nil
	return nil
}

// stop asks the process to end and returns when it is gone.
func (p *process) stop() error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.dead:
	case <-time.After(stopWithin):
		return fmt.Errorf("%s did not end within %v; its log ends:\n%s", p.name, stopWithin, p.tail())
	}
	p.cmd = nil
	return nil
}

// signal sends a signal to the process.
func (p *process) signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return fmt.Errorf("%s does not run", p.name)
	}
	return p.cmd.Process.Signal(s)
}

// ended says whether the process ended by itself. The caller holds p.mu.
func (p *process) ended() bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

// alive returns nil while the process runs, else how its log ends.
func (p *process) alive() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil || p.ended() {
		return fmt.Errorf("%s does not run; its log ends:\n%s", p.name, p.tail())
	}
	return nil
}

const tailLines = 30

func (p *process) tail() string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// buildWeir builds the binary, as the user who called sudo if one did, so that
// no file of root's comes into that user's build cache.
func buildWeir(t *testing.T) string {
	t.Helper()
	if *weirBinary != "" {
		return *weirBinary
	}
	dir, err := os.MkdirTemp("", "weir-chaos-") //nolint:usetesting // only root may enter what t.TempDir makes
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	binary := filepath.Join(dir, "weir")
	cmd := exec.Command(goCommand(), "build", "-o", binary, "weir/cmd/weir")
	if uid, gid, ok := invokingUser(); ok {
		must(t, os.Chown(dir, uid, gid))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return binary
}

// goCommand is the go that runs this test, also where sudo shortened PATH.
func goCommand() string {
	if root := os.Getenv("GOROOT"); root != "" {
		return filepath.Join(root, "bin", "go")
	}
	return "go"
}

func invokingUser() (uid, gid int, ok bool) {
	uid, errUID := strconv.Atoi(os.Getenv("SUDO_UID"))
	gid, errGID := strconv.Atoi(os.Getenv("SUDO_GID"))
	return uid, gid, errUID == nil && errGID == nil
}
