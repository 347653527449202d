package chaos

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// redisServer is one redis-server on a port of its region's loopback.
type redisServer struct {
	*process
	port int
	dir  string
}

const dumpFile = "dump.rdb"

func newRedisServer(dir, name string, space *namespace, port int) *redisServer {
	own := filepath.Join(dir, name)
	return &redisServer{port: port, dir: own, process: &process{
		name: name, space: space, log: filepath.Join(dir, name+".log"),
		args: []string{"redis-server", "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
			"--dir", own, "--dbfilename", dumpFile, "--repl-diskless-sync-delay", "0", "--rdb-del-sync-files", "yes"},
	}}
}

// start begins a life and returns when it answers.
func (s *redisServer) start(ctx context.Context) error {
	if err := os.Mkdir(s.dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := s.process.start(); err != nil {
		return err
	}
	return until(ctx, 5*time.Second, s.name+" answers", func() (bool, string) {
		if err := s.alive(); err != nil {
			return false, err.Error()
		}
		said, err := s.command(ctx, "PING")
		if err != nil {
			return false, err.Error()
		}
		return said == "PONG", said
	})
}

// follow makes the server a copy of another and returns once it is one.
func (s *redisServer) follow(ctx context.Context, master *redisServer) error {
	if _, err := s.command(ctx, fmt.Sprintf("REPLICAOF 127.0.0.1 %d", master.port)); err != nil {
		return err
	}
	return until(ctx, 5*time.Second, s.name+" is a copy of "+master.name, func() (bool, string) {
		said, err := s.command(ctx, "INFO replication")
		if err != nil {
			return false, err.Error()
		}
		return strings.Contains(said, "master_link_status:up") && strings.Contains(said, "master_sync_in_progress:0"), said
	})
}

// command sends a command and returns its answer: a simple or bulk string, or a
// number.
func (s *redisServer) command(ctx context.Context, words string) (string, error) {
	conn, err := s.space.dial(ctx, fmt.Sprintf("127.0.0.1:%d", s.port))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return "", err
	}
	return exchange(conn, words)
}

func exchange(conn net.Conn, words string) (string, error) {
	if _, err := io.WriteString(conn, words+"\r\n"); err != nil {
		return "", err
	}
	answers := bufio.NewReader(conn)
	line, err := answers.ReadString('\n')
	if err != nil {
		return "", err
	}
	kind, line := line[0], strings.TrimSpace(line[1:])
	switch kind {
	case '$':
		length, err := strconv.Atoi(line)
		if err != nil {
			return "", err
		}
		body := make([]byte, max(0, length))
		_, err = io.ReadFull(answers, body)
		return string(body), err
	case '-':
		return "", fmt.Errorf("%s: %s", words, line)
	default:
		return line, nil
	}
}
