package chaos

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// redisServer is a region's store. It keeps nothing on disk: restarted, it is
// empty.
type redisServer struct {
	*process
	pulse pulse

	mu      sync.Mutex
	gone    time.Time // since when it surely does nothing; zero while it runs
	absence []span    // earlier times of the same
}

type span struct{ from, to time.Time }

func newRedisServer(dir string, r *region) *redisServer {
	return &redisServer{process: &process{
		name: r.name + "-redis", space: r.space, log: filepath.Join(dir, r.name+"-redis.log"),
		args: []string{"redis-server", "--port", strconv.Itoa(redisPort), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir},
	}}
}

// start begins an empty life and returns when it answers.
func (s *redisServer) start(ctx context.Context) error {
	s.mu.Lock()
	if !s.gone.IsZero() {
		s.absence = append(s.absence, span{s.gone, time.Now()})
		s.gone = time.Time{}
	}
	s.mu.Unlock()
	if err := s.process.start(); err != nil {
		return err
	}
	return until(ctx, 5*time.Second, s.name+" answers", func() (bool, string) {
		if err := s.alive(); err != nil {
			return false, err.Error()
		}
		said, err := s.ping(ctx)
		if err != nil {
			return false, err.Error()
		}
		return strings.HasPrefix(said, "+PONG"), said
	})
}

func (s *redisServer) dial(ctx context.Context) (net.Conn, error) {
	return s.space.dial(ctx, fmt.Sprintf("127.0.0.1:%d", redisPort))
}

func (s *redisServer) ping(ctx context.Context) (string, error) {
	conn, err := s.dial(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return "", err
	}
	return bufio.NewReader(conn).ReadString('\n')
}

// kill ends it with all it held.
func (s *redisServer) kill() error {
	err := s.process.kill()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = time.Now()
	return err
}

// wasGone says whether there was no server for the whole time: then nothing
// asked and answered within it was counted.
func (s *redisServer) wasGone(from, to time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gone.IsZero() && s.gone.Before(from) {
		return true
	}
	for _, a := range s.absence {
		if a.from.Before(from) && to.Before(a.to) {
			return true
		}
	}
	return false
}
