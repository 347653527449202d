package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// store is a region's Redis: one server, for a time two. It saves nothing by
// itself: restarted, it is empty.
type store struct {
	region string
	space  *namespace
	dir    string
	pulse  pulse

	mu      sync.Mutex
	main    *redisServer
	other   *redisServer // while there are two
	servers int          // ever started under a name of their own
	pointed map[string]bool
	gone    time.Time // since when it surely does nothing; zero while it runs
	absence []span    // earlier times of the same
}

type span struct{ from, to time.Time }

// pulseAddress is where the test itself reaches a region's Redis.
const pulseAddress = "127.0.1.100"

// storeAddress is where a region's node of that number reaches its Redis.
func storeAddress(number int) string { return fmt.Sprintf("127.0.1.%d", number+1) }

func newStore(dir string, r *region) *store {
	s := &store{region: r.name, space: r.space, dir: dir, pointed: map[string]bool{}}
	s.main = s.newServer()
	return s
}

// newServer is one that does not run yet. The caller holds s.mu or is alone.
func (s *store) newServer() *redisServer {
	s.servers++
	return newRedisServer(s.dir, fmt.Sprintf("%s-redis-%d", s.region, s.servers), s.space, redisPort+s.servers)
}

// server is the one that all nodes reach unless there are two.
func (s *store) server() *redisServer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.main
}

// running are the servers there are.
func (s *store) running() []*redisServer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.other != nil {
		return []*redisServer{s.main, s.other}
	}
	return []*redisServer{s.main}
}

// point leads addresses to a server from now on; connections that are open stay
// where they are.
func (s *store) point(to *redisServer, addresses ...string) error {
	var commands []string
	for _, a := range addresses {
		if s.pointed[a] {
			commands = append(commands, fmt.Sprintf("delete element ip chaos stores { %s }", a))
		}
		commands = append(commands, fmt.Sprintf("add element ip chaos stores { %s : %d }", a, to.port))
		s.pointed[a] = true
	}
	return s.space.nft(strings.Join(commands, "; "))
}

// pointAll leads every address to a server.
func (s *store) pointAll(to *redisServer) error {
	addresses := []string{pulseAddress}
	for i := range nodesPerRegion {
		addresses = append(addresses, storeAddress(i))
	}
	return s.point(to, addresses...)
}

// start begins a life of the server, empty unless it has a dump.
func (s *store) start(ctx context.Context) error {
	s.mu.Lock()
	main := s.main
	if !s.gone.IsZero() {
		s.absence = append(s.absence, span{s.gone, time.Now()})
		s.gone = time.Time{}
	}
	s.mu.Unlock()
	return errors.Join(s.pointAll(main), main.start(ctx))
}

// kill ends it with all it held.
func (s *store) kill() error {
	err := s.server().kill()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = time.Now()
	return err
}

// wasGone says whether there was no server for the whole time: then nothing
// asked and answered within it was counted.
func (s *store) wasGone(from, to time.Time) bool {
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

// setBack restarts the server from a dump that was saved earlier, and lets
// later starts be empty again.
func (s *store) setBack(ctx context.Context) error {
	if err := s.kill(); err != nil {
		return err
	}
	err := s.start(ctx)
	return errors.Join(err, os.Remove(filepath.Join(s.server().dir, dumpFile)))
}

// promote makes a copy of the server a second master. The addresses given reach
// it from then on; whoever else is connected stays with the old one.
func (s *store) promote(ctx context.Context, addresses ...string) error {
	s.mu.Lock()
	fresh := s.newServer()
	old := s.main
	s.other = fresh
	s.mu.Unlock()
	if err := fresh.start(ctx); err != nil {
		return err
	}
	if err := fresh.follow(ctx, old); err != nil {
		return err
	}
	if _, err := fresh.command(ctx, "REPLICAOF NO ONE"); err != nil {
		return err
	}
	if err := s.point(fresh, addresses...); err != nil {
		return err
	}
	_, err := old.command(ctx, "CLIENT KILL TYPE normal") // all connect anew, each by its address
	return err
}

// demote ends the old master; all reach the new one.
func (s *store) demote() error {
	s.mu.Lock()
	old := s.main
	s.main, s.other = s.other, nil
	fresh := s.main
	s.mu.Unlock()
	return errors.Join(s.pointAll(fresh), old.kill())
}
