package imports

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// directions says which of our trees a tree may import besides itself. The
// longest that holds a package speaks for it.
//
//	cmd → region → { limiter, gossip, crdt, proto }      gossip → { crdt, proto }
//	limiter → crdt      crdt, proto → none of ours       nobody → test
var directions = map[string][]string{
	"cmd":            {"region", "proto", "limiter/rule"}, // rules are also checked without a node
	"region":         {"limiter", "gossip", "crdt", "proto"},
	"region/gateway": {"proto"}, // runs at the caller's side
	"gossip":         {"crdt", "proto"},
	"limiter":        {"crdt"}, // the values a store keeps and nodes replicate are the same
	"crdt":           nil,
	"proto":          nil,
	"deploy":         {"proto"},
	"docs":           {"proto"},
	"test":           {"region", "limiter", "gossip", "crdt", "proto"},
}

// worldly are the standard packages by which a package would reach a clock, a
// random source, a file, a socket, another goroutine or a log.
var worldly = []string{
	"bufio", "context", "crypto/rand", "io", "log", "math/rand", "net", "os",
	"path/filepath", "plugin", "runtime", "sync", "syscall", "testing", "time", "unsafe",
}

// homes says which trees alone may import a module, in code that is not a
// test: what is known in one place can be exchanged there.
var homes = map[string][]string{
	"github.com/hashicorp/memberlist": {"gossip"},
	"github.com/redis/go-redis":       {"limiter"},
	"go.etcd.io/bbolt":                {"region/snapshot"},
	"github.com/spf13/cobra":          {"cmd"},
	"github.com/chromedp":             {"test"},
	"pgregory.net/rapid":              {"test", "limiter/store/storetest"},
	"go.uber.org/goleak":              {"test"},
}

// violations lists what breaks the rules above, a sentence each.
func violations(all []source) []string {
	var found []string
	for _, s := range all {
		for _, imported := range s.imports {
			for _, rule := range []func(source, string) string{wrongDirection, worldlyCRDT, awayFromHome} {
				if what := rule(s, imported); what != "" {
					found = append(found, what)
				}
			}
		}
	}
	return found
}

// wrongDirection holds for tests too: what needs more than its own package's
// reach is tested in test.
func wrongDirection(s source, imported string) string {
	target, ours := strings.CutPrefix(imported, module+"/")
	if !ours && imported != module {
		return ""
	}
	room := roomOf(s.dir())
	if room == "" {
		return fmt.Sprintf("%s lies outside the trees that have rules", s.path)
	}
	if within(target, room) {
		return ""
	}
	for _, tree := range directions[room] {
		if within(target, tree) {
			return ""
		}
	}
	return fmt.Sprintf("%s imports %s: %s may import of ours %s", s.path, imported, room, orNone(directions[room]))
}

// roomOf returns the longest tree of directions that holds dir.
func roomOf(dir string) (room string) {
	for tree := range directions {
		if within(dir, tree) && len(tree) > len(room) {
			room = tree
		}
	}
	return room
}

func orNone(trees []string) string {
	if len(trees) == 0 {
		return "only itself"
	}
	return "only itself, " + strings.Join(trees, ", ")
}

// worldlyCRDT keeps crdt plain values: the standard library, and of it nothing
// that reaches outside.
func worldlyCRDT(s source, imported string) string {
	if !within(s.dir(), "crdt") || s.isTest() || within(imported, module) {
		return ""
	}
	if strings.Contains(strings.Split(imported, "/")[0], ".") {
		return fmt.Sprintf("%s imports %s: crdt rests on the standard library alone", s.path, imported)
	}
	if slices.ContainsFunc(worldly, func(tree string) bool { return within(imported, tree) }) {
		return fmt.Sprintf("%s imports %s: crdt knows no clock, chance, I/O or concurrency", s.path, imported)
	}
	return ""
}

func awayFromHome(s source, imported string) string {
	for imp, trees := range homes {
		if s.isTest() || !within(imported, imp) {
			continue
		}
		if !slices.ContainsFunc(trees, func(tree string) bool { return within(s.dir(), tree) }) {
			return fmt.Sprintf("%s imports %s: only %s may, and tests", s.path, imported, strings.Join(trees, ", "))
		}
	}
	return ""
}

func TestImports(t *testing.T) {
	for _, what := range violations(sources(t)) {
		t.Error(what)
	}
}

// TestImportRulesCanFail shows each rule a file that breaks it and one that
// does not.
func TestImportRulesCanFail(t *testing.T) {
	tests := []struct {
		path, imported string
		breaks         bool
	}{
		{"cmd/weir/main.go", "weir/region", false},
		{"cmd/weir/check.go", "weir/proto/weir/v1", false},
		{"cmd/weir/rules.go", "weir/limiter/rule", false},
		{"cmd/weir/main.go", "weir/limiter", true},
		{"cmd/weir/main.go", "weir/gossip", true},
		{"region/node.go", "weir/limiter/store/redis", false},
		{"region/node.go", "weir/cmd/weir", true},
		{"region/node.go", "weir/test/sim", true},
		{"region/node_test.go", "weir/test/sim", true},
		{"region/gateway/client.go", "weir/proto/weir/v1", false},
		{"region/gateway/client.go", "weir/region/gateway/ip", false},
		{"region/gateway/client.go", "weir/region", true},
		{"region/gateway/client.go", "weir/limiter", true},
		{"gossip/core.go", "weir/crdt", false},
		{"gossip/frame.go", "weir/proto/wire/v1", false},
		{"gossip/core.go", "weir/limiter", true},
		{"gossip/core_test.go", "weir/region", true},
		{"limiter/engine.go", "weir/limiter/rule", false},
		{"limiter/engine.go", "weir/crdt", false},
		{"limiter/engine_test.go", "weir/gossip", true},
		{"limiter/rule/rule.go", "weir/proto/weir/v1", true},
		{"proto/weir/v1/x.pb.go", "weir/crdt", true},
		{"crdt/row.go", "weir/crdt/digest", false},
		{"crdt/row.go", "weir/limiter", true},
		{"crdtx/row.go", "weir/crdt", true},
		{"main.go", "weir/region", true},
		{"crdt/row.go", "encoding/binary", false},
		{"crdt/row.go", "math/bits", false},
		{"crdt/row.go", "math/rand/v2", true},
		{"crdt/row.go", "time", true},
		{"crdt/row.go", "os", true},
		{"crdt/row.go", "net/netip", true},
		{"crdt/row.go", "sync/atomic", true},
		{"crdt/row.go", "log/slog", true},
		{"crdt/row.go", "pgregory.net/rapid", true},
		{"crdt/row_test.go", "pgregory.net/rapid", false},
		{"crdt/row_test.go", "time", false},
		{"gossip/transport.go", "github.com/hashicorp/memberlist", false},
		{"region/node.go", "github.com/hashicorp/memberlist", true},
		{"region/node.go", "go.etcd.io/bbolt", true},
		{"region/snapshot/file.go", "go.etcd.io/bbolt/errors", false},
		{"region/node.go", "github.com/redis/go-redis/v9", true},
		{"region/node_test.go", "github.com/redis/go-redis/v9", false},
		{"region/node.go", "github.com/spf13/cobra", true},
		{"region/dashboard/page.go", "github.com/chromedp/chromedp", true},
		{"test/browser/page.go", "github.com/chromedp/chromedp", false},
	}
	for _, tt := range tests {
		s := source{path: tt.path, imports: []string{"fmt", tt.imported}}
		got := violations([]source{s})
		if len(got) > 0 != tt.breaks {
			t.Errorf("%s importing %s: got %q, want broken: %v", tt.path, tt.imported, got, tt.breaks)
		}
	}
}
