package gossip

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"go.uber.org/goleak"

	"weir/crdt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lockedBuffer is a log that tests read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// quickFailure lets tests see a death in well under a second.
func quickFailure(c *memberlist.Config) {
	c.ProbeInterval, c.ProbeTimeout = 100*time.Millisecond, 50*time.Millisecond
	c.SuspicionMult, c.SuspicionMaxTimeoutMult = 2, 1
	c.GossipInterval = 20 * time.Millisecond
	c.DeadNodeReclaimTime = 10 * time.Millisecond
}

func testConfig(node, region string, join ...string) Config {
	return Config{
		Node: node, Region: region, Regions: testRegions, Store: "memory", MaxRows: 10_000,
		BindAddr: "127.0.0.1", Join: join,
		Logger: slog.New(slog.DiscardHandler),
		Now:    func() time.Time { return time.Unix(testNowUnix, 0) },
		tune:   quickFailure,
	}
}

func open(t *testing.T, cfg Config) *Mesh {
	t.Helper()
	m, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// eventually polls until the condition holds, or fails after 20 s.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func meshValue(m *Mesh, key string) (value int64) {
	m.View(testName(key).ID(), func(r *crdt.Row) { value = r.Value() })
	return value
}

func membersOf(m *Mesh) string {
	var names []string
	for _, member := range m.Members() {
		names = append(names, member.Name)
	}
	return strings.Join(names, " ")
}

func TestThreeRegionsConverge(t *testing.T) {
	eu := open(t, testConfig("eu-1", "eu"))
	us := open(t, testConfig("us-1", "us", eu.Addr()))
	ap := open(t, testConfig("ap-1", "ap", us.Addr()))
	meshes := []*Mesh{eu, us, ap}
	for i, m := range meshes {
		for key := range 100 {
			m.Record(testName(fmt.Sprint(key)), testEntry(m.cfg.Region, uint64(i+1)))
		}
	}
	for _, m := range meshes {
		eventually(t, m.cfg.Node+" knows all members", func() bool { return membersOf(m) == "ap-1 eu-1 us-1" })
		eventually(t, m.cfg.Node+" knows all rows", func() bool {
			for key := range 100 {
				if meshValue(m, fmt.Sprint(key)) != 1+2+3 {
					return false
				}
			}
			return true
		})
		select {
		case <-m.FirstSync():
		case <-time.After(10 * time.Second):
			t.Fatalf("%s has not synced", m.cfg.Node)
		}
		eventually(t, m.cfg.Node+" is in touch with all regions", func() bool {
			for _, h := range m.Heard() {
				if !h.Known || h.Age > time.Second {
					return false
				}
			}
			return true
		})
	}
	seen := 0
	eu.Each(func(*crdt.Row) { seen++ })
	if rows := len(eu.TakeUnsaved(1000)); seen != 100 || rows != 100 {
		t.Errorf("Each met %d rows, %d are unsaved; want 100", seen, rows)
	}
	for _, member := range ap.Members() {
		want := Member{Name: member.Name, Region: member.Name[:2], Store: "memory", Addr: member.Addr, Self: member.Name == "ap-1", Silence: member.Silence}
		if member != want || member.Addr == "" || member.Silence > 10*time.Second || (member.Self && member.Silence != 0) {
			t.Errorf("member %+v, want %+v", member, want)
		}
	}
}

func key(fill byte) []byte { return bytes.Repeat([]byte{fill}, 32) }

func TestStrangersStayOut(t *testing.T) {
	log := &lockedBuffer{}
	cfg := testConfig("eu-1", "eu")
	cfg.Keys, cfg.Logger = [][]byte{key(1), key(2)}, slog.New(slog.NewTextHandler(log, nil))
	eu := open(t, cfg)

	cfg = testConfig("us-1", "us", eu.Addr())
	cfg.Keys = [][]byte{key(2), key(1)} // mid-rotation: another primary
	us := open(t, cfg)
	eventually(t, "holders of both keys meet", func() bool { return membersOf(us) == "eu-1 us-1" })
	us.Record(testName("k"), testEntry("us", 3))
	eventually(t, "rows cross", func() bool { return meshValue(eu, "k") == 3 })
	if n := eu.Stats().Strangers; n != 0 {
		t.Fatalf("%d strangers among friends", n)
	}

	for what, keys := range map[string][][]byte{"wrong": {key(9)}, "none": nil} {
		before := eu.Stats().Strangers
		cfg := testConfig("stranger-"+what, "us", eu.Addr())
		cfg.Keys = keys
		stranger := open(t, cfg)
		stranger.Record(testName("k"), testEntry("us", 99))
		eventually(t, "a stranger with "+what+" key is counted", func() bool { return eu.Stats().Strangers > before })
		if membersOf(stranger) != "stranger-"+what || membersOf(eu) != "eu-1 us-1" {
			t.Fatalf("stranger with %s key joined", what)
		}
	}
	if meshValue(eu, "k") != 3 || !strings.Contains(log.String(), "level=WARN") {
		t.Fatalf("row at %d, log %q", meshValue(eu, "k"), log)
	}
}

// A node that dies without a word comes back under its name at another port,
// and gets what it missed.
func TestRestartAtAnotherPort(t *testing.T) {
	eu := open(t, testConfig("eu-1", "eu"))
	us := open(t, testConfig("us-1", "us", eu.Addr()))
	eu.Record(testName("before"), testEntry("eu", 1))
	eventually(t, "us has the row", func() bool { return meshValue(us, "before") == 1 })
	old := us.Addr()
	us.Close()
	eu.Record(testName("meanwhile"), testEntry("eu", 2))

	us = open(t, testConfig("us-1", "us", eu.Addr()))
	if us.Addr() == old {
		t.Fatal("the port is the same")
	}
	eventually(t, "us is back at its new address", func() bool {
		for _, m := range eu.Members() {
			if m.Name == "us-1" && m.Addr == us.Addr() {
				return true
			}
		}
		return false
	})
	eventually(t, "us has caught up", func() bool { return meshValue(us, "before") == 1 && meshValue(us, "meanwhile") == 2 })
}

// A node that vanished is tried at its last address by those that remember it,
// though nobody's configuration names it.
func TestALostMemberIsTriedAgain(t *testing.T) {
	eu := open(t, testConfig("eu-1", "eu"))
	us := open(t, testConfig("us-1", "us", eu.Addr()))
	eventually(t, "they meet", func() bool { return membersOf(eu) == "eu-1 us-1" })
	port := us.list.LocalNode().Port
	us.Close()
	eventually(t, "eu notices", func() bool { return membersOf(eu) == "eu-1" })
	eu.Record(testName("k"), testEntry("eu", 2))

	cfg := testConfig("us-1", "us") // no join address
	cfg.BindPort = int(port)
	us = open(t, cfg)
	us.Record(testName("k"), testEntry("us", 3))
	eventually(t, "they meet again", func() bool { return meshValue(eu, "k") == 5 && meshValue(us, "k") == 5 })
}

func TestLeaveTellsTheLastNews(t *testing.T) {
	eu := open(t, testConfig("eu-1", "eu"))
	us := open(t, testConfig("us-1", "us", eu.Addr()))
	eventually(t, "they meet", func() bool { return membersOf(us) == "eu-1 us-1" && membersOf(eu) == "eu-1 us-1" })
	us.Record(testName("last"), testEntry("us", 7))
	if err := us.Leave(context.Background()); err != nil {
		t.Fatal(err)
	}
	us.Close()
	eventually(t, "the last news arrived", func() bool { return meshValue(eu, "last") == 7 })
	eventually(t, "the member is gone", func() bool { return membersOf(eu) == "eu-1" })
	if err := us.Leave(context.Background()); !errors.Is(err, ErrClosed) {
		t.Fatalf("Leave after Close: %v", err)
	}
}

func TestAFullInboxRecovers(t *testing.T) {
	cfg := testConfig("eu-1", "eu")
	cfg.inboxFrames = 1
	eu := open(t, cfg)
	us := open(t, testConfig("us-1", "us", eu.Addr()))
	eventually(t, "they meet", func() bool { return membersOf(us) == "eu-1 us-1" })
	<-eu.FirstSync()
	<-us.FirstSync()

	// While eu's core is busy, frames come and find no room.
	eu.mu.Lock()
	sent := 0
	eventually(t, "frames are dropped", func() bool {
		us.Record(testName(fmt.Sprint(sent)), testEntry("us", 1))
		sent++
		return eu.inbox.drops.Load() > 3
	})
	eu.mu.Unlock()
	eventually(t, "eu has all rows all the same", func() bool { return eu.Stats().Rows == sent })
	if s := eu.Stats(); s.Gaps == 0 || s.InboxDrops == 0 {
		t.Errorf("nothing was missed: %+v", s)
	}
}

func TestAFullOutboxIsCountedAndRepaired(t *testing.T) {
	eu := open(t, testConfig("eu-1", "eu"))
	us := open(t, testConfig("us-1", "us", eu.Addr()))
	eventually(t, "they meet", func() bool { return membersOf(us) == "eu-1 us-1" && membersOf(eu) == "eu-1 us-1" })
	// The sender reports each frame under the lock: held, it lets nothing out.
	us.mu.Lock()
	for i := range outboxFrames + 100 {
		record(us.core, testName(fmt.Sprint(i)), testEntry("us", 1))
		for _, msg := range tickOf(us.core, us.cfg.Clock(), testNowUnix) {
			us.post(msg)
		}
	}
	us.mu.Unlock()
	if us.Stats().OutboxDrops == 0 {
		t.Fatal("nothing was dropped")
	}
	eventually(t, "eu has all rows", func() bool { return eu.Stats().Rows == outboxFrames+100 })
}

func TestTwoNodesOfOneNameAreToldOf(t *testing.T) {
	log := &lockedBuffer{}
	cfg := testConfig("eu-1", "eu")
	cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	first := open(t, cfg)
	open(t, testConfig("eu-1", "eu", first.Addr()))
	eventually(t, "the conflict is counted", func() bool { return first.Stats().Conflicts > 0 })
	eventually(t, "and logged", func() bool { return strings.Contains(log.String(), "level=ERROR") })
	if got := first.Members(); len(got) != 1 || got[0].Addr != first.Addr() {
		t.Fatalf("members %v", got)
	}
}

func TestNoiseOnThePortIsHarmless(t *testing.T) {
	eu := open(t, testConfig("eu-1", "eu"))
	us := open(t, testConfig("us-1", "us", eu.Addr()))
	eventually(t, "they meet", func() bool { return membersOf(us) == "eu-1 us-1" })
	us.mu.Lock()
	node := us.senders["eu-1"].node
	us.mu.Unlock()
	if err := us.list.SendReliable(&node, []byte("not a frame")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is counted", func() bool { return eu.Stats().MalformedFrames == 1 })
}

func TestOpenRefusesABadConfig(t *testing.T) {
	for what, spoil := range map[string]func(*Config){
		"no node":          func(c *Config) { c.Node = "" },
		"no region":        func(c *Config) { c.Region = "" },
		"no rows":          func(c *Config) { c.MaxRows = 0 },
		"bad address":      func(c *Config) { c.BindAddr = "example" },
		"bad port":         func(c *Config) { c.BindPort = 70_000 },
		"bad advertised":   func(c *Config) { c.AdvertiseAddr = "example" },
		"short key":        func(c *Config) { c.Keys = [][]byte{key(1)[:5]} },
		"join without":     func(c *Config) { c.Join = []string{"example"} },
		"join port 0":      func(c *Config) { c.Join = []string{"example:0"} },
		"join empty srv":   func(c *Config) { c.Join = []string{"dns+srv://"} },
		"too many regions": func(c *Config) { c.Regions = make([]string, maxRegions) },
		"unwieldy region":  func(c *Config) { c.Region = strings.Repeat("\x01", 128) },
	} {
		cfg := testConfig("eu-1", "eu")
		spoil(&cfg)
		if m, err := Open(cfg); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", what, err)
			if err == nil {
				m.Close()
			}
		}
	}
	taken := open(t, testConfig("eu-1", "eu"))
	cfg := testConfig("eu-2", "eu")
	cfg.BindPort = int(taken.list.LocalNode().Port)
	if _, err := Open(cfg); err == nil || !strings.Contains(err.Error(), "listen") {
		t.Errorf("port in use: %v", err)
	}
}
