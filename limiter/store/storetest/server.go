package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Server is a Redis server of a test's own, on a free port of loopback. What
// it saves lies in the test's directory.
type Server struct {
	Addr string // host:port
	URL  string

	dir  string
	port int
	args []string
	cmd  *exec.Cmd
	log  *bytes.Buffer
	done chan struct{} // closed when the process has ended
}

// StartServer starts redis-server with these arguments after the usual ones
// (no saving by itself) and ends it with the test.
func StartServer(tb testing.TB, args ...string) *Server {
	tb.Helper()
	s, err := NewServer(tb.TempDir(), args...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Kill)
	return s
}

// NewServer starts a server that keeps its files in dir; Kill ends it. For
// tests, use StartServer.
func NewServer(dir string, args ...string) (*Server, error) {
	// A short life of the socket leaves the port to the server; loopback ports
	// are handed out in turn, so nobody else gets it meanwhile.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, args: args, Addr: l.Addr().String()}
	if err := l.Close(); err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return nil, err
	}
	if s.port, err = strconv.Atoi(port); err != nil {
		return nil, err
	}
	s.URL = "redis://" + s.Addr + "/0"
	if err := s.Start(); err != nil {
		return nil, err
	}
	return s, nil
}

// Start starts the server, again on the same port after Kill, and returns once
// it answers.
func (s *Server) Start() error {
	args := append([]string{"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir,
		"--save", "", "--appendonly", "no", "--unixsocket", filepath.Join(s.dir, "redis.sock")}, s.args...)
	s.log = new(bytes.Buffer)
	s.cmd = exec.Command("redis-server", args...) //nolint:gosec // arguments of tests
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start redis-server: %w", err)
	}
	s.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan<- struct{}) {
		_ = cmd.Wait() // killed, it says; what went wrong before is in the log
		close(done)
	}(s.cmd, s.done)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if s.answers() {
			return nil
		}
		select {
		case <-s.done:
			s.cmd = nil
			return fmt.Errorf("redis-server ended: %s", s.log)
		case <-time.After(5 * time.Millisecond):
		}
	}
	s.Kill()
	return errors.New("redis-server did not answer in 10 s")
}

func (s *Server) answers() bool {
	c, err := net.DialTimeout("tcp", s.Addr, time.Second)
	if err != nil {
		return false
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	if _, err := c.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	reply := make([]byte, 7)
	n, err := c.Read(reply)
	return err == nil && bytes.HasPrefix(reply[:n], []byte("+PONG"))
}

// Kill ends the server at once, without saving.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(os.Kill)
	<-s.done
	s.cmd = nil
}

// Socket is the path of the server's unix socket.
func (s *Server) Socket() string { return filepath.Join(s.dir, "redis.sock") }
