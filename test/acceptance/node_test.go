package acceptance

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// node is one `weir serve`: its configuration, and its process while it runs.
// It starts again with the same name, addresses and files.
type node struct {
	region, name string
	regions      []string // all; none: its own alone
	store        string   // memory or a URL
	join         []string // gossip addresses
	keyring      string   // path; none: in the clear
	snapshot     bool

	ip      string
	dir     string
	process *process
}

func newNode(t *testing.T, region, name, store, rules string) *node {
	t.Helper()
	n := &node{region: region, name: name, store: store, ip: newIP(), dir: t.TempDir()}
	writeFile(t, filepath.Join(n.dir, "rules.yaml"), rules)
	return n
}

// startNode starts a node alone in its world and waits until it is ready.
func startNode(t *testing.T, store, rules string) *node {
	t.Helper()
	n := newNode(t, "eu-west", "eu-west-1", store, rules)
	n.start(t)
	n.waitReady(t)
	return n
}

func (n *node) grpcAddr() string   { return fmt.Sprintf("%s:%d", n.ip, grpcPort) }
func (n *node) httpAddr() string   { return fmt.Sprintf("%s:%d", n.ip, httpPort) }
func (n *node) gossipAddr() string { return fmt.Sprintf("%s:%d", n.ip, gossipPort) }

func (n *node) configuration() string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("region: %s", n.region)
	say("node: %s", n.name)
	if len(n.regions) > 0 {
		say("regions: {%s: 1}", strings.Join(n.regions, ": 1, "))
	}
	say("listen: {grpc: %q, http: %q, gossip: %q}", n.grpcAddr(), n.httpAddr(), n.gossipAddr())
	say("store: %s", n.store)
	say("rules: rules.yaml")
	if n.snapshot {
		say("snapshot: state.db")
	}
	if len(n.join) > 0 || n.keyring != "" {
		say("gossip:")
	}
	if len(n.join) > 0 {
		say("  join: [%s]", strings.Join(n.join, ", "))
	}
	if n.keyring != "" {
		say("  keyring_file: %s", n.keyring)
	}
	return b.String()
}

// start starts the process; it may not be ready for a while.
func (n *node) start(t *testing.T) {
	t.Helper()
	writeFile(t, filepath.Join(n.dir, "weir.yaml"), n.configuration())
	n.process = launch(t, "node "+n.name, n.dir, nil, binary(t), "serve", "--config", "weir.yaml")
}

// waitReady waits until /readyz says so.
func (n *node) waitReady(t *testing.T) {
	t.Helper()
	began := time.Now()
	eventually(t, 20*time.Second, n.name+" is ready", func(ctx context.Context) error {
		if n.process.hasEnded() {
			t.Fatalf("%s ended with %v before it was ready:\n%s", n.name, n.process.cmd.ProcessState, n.process.stderr.tail(20))
		}
		code, body, err := get(ctx, "http://"+n.httpAddr()+"/readyz")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("%d %s", code, body)
		}
		return err
	})
	t.Logf("%s ready in %d ms", n.name, time.Since(began).Milliseconds())
}

// stop is what an operator's SIGTERM does; the node must end well.
func (n *node) stop(t *testing.T) {
	t.Helper()
	began := time.Now()
	n.process.signal(t, syscall.SIGTERM)
	if code := n.process.wait(t, 25*time.Second); code != 0 {
		t.Fatalf("%s: exit code %d after SIGTERM", n.name, code)
	}
	t.Logf("%s stopped in %d ms", n.name, time.Since(began).Milliseconds())
}

// get asks over HTTP.
func get(ctx context.Context, url string) (code int, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, strings.TrimSpace(string(text)), err
}

// newKeyring writes a keyring of one fresh key.
func newKeyring(t *testing.T) (path string) {
	t.Helper()
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails, says its documentation
	path = filepath.Join(t.TempDir(), "keys")
	writeFile(t, path, base64.StdEncoding.EncodeToString(key)+"\n")
	return path
}
