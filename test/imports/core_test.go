package imports

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// The replication core in package gossip takes messages and ticks in and gives
// messages out, so that the simulator can run it from a seed. A file of gossip
// belongs to it unless it imports one of these.
var outsideCore = []string{"context", "net", "os", "github.com/hashicorp/memberlist"}

// banned are the functions by which the core would get at a clock or at global
// random numbers. A nil list bans the whole package.
var banned = map[string][]string{
	"time":         {"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"},
	"math/rand/v2": {"Float32", "Float64", "Int", "Int32", "Int32N", "Int64", "Int64N", "IntN", "N", "Perm", "Shuffle", "Uint", "Uint32", "Uint32N", "Uint64", "Uint64N", "UintN", "NormFloat64", "ExpFloat64"},
	"math/rand":    nil,
	"crypto/rand":  nil,
	"sync":         nil,
	"sync/atomic":  nil,
	"log/slog":     {"Debug", "Error", "Info", "Warn", "Default"},
}

// isCore reports whether a file belongs to the replication core.
func isCore(s source) bool {
	if !within(s.dir(), "gossip") || s.isTest() {
		return false
	}
	return !slices.ContainsFunc(s.imports, func(imported string) bool {
		return slices.ContainsFunc(outsideCore, func(tree string) bool { return within(imported, tree) })
	})
}

// impurities lists what a core file does that a replay could not repeat.
func impurities(s source) (found []string) {
	add := func(what string) { found = append(found, fmt.Sprintf("%s: the replication core %s", s.path, what)) }
	names := make(map[string]string) // by local name: import path
	for _, spec := range s.syntax.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		functions, listed := banned[path]
		if listed && functions == nil {
			add("imports " + path)
		}
		names[localName(spec, path)] = path
	}
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			add("starts a goroutine")
		case *ast.SelectStmt:
			add("selects between channels, which is left to chance")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && slices.Contains(banned[names[x.Name]], n.Sel.Name) {
				add("uses " + names[x.Name] + "." + n.Sel.Name)
			}
		}
		return true
	})
	return found
}

// localName is the name by which a file knows an import.
func localName(spec *ast.ImportSpec, path string) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	parts := strings.Split(path, "/")
	last := parts[len(parts)-1]
	if len(parts) > 1 && len(last) > 1 && last[0] == 'v' && last[1] >= '0' && last[1] <= '9' {
		return parts[len(parts)-2]
	}
	return last
}

func TestReplicationCoreIsPure(t *testing.T) {
	files, core := 0, 0
	for _, s := range sources(t) {
		if within(s.dir(), "gossip") && !s.isTest() {
			files++
		}
		if !isCore(s) {
			continue
		}
		core++
		for _, what := range impurities(s) {
			t.Error(what)
		}
	}
	if files > 0 && core == 0 {
		t.Errorf("none of gossip's %d files belongs to the replication core", files)
	}
}

func TestCoreRuleCanFail(t *testing.T) {
	tests := []struct {
		name, imports, body string
		core, breaks        bool
	}{
		{"durations are values", `"time"`, `_ = time.Second`, true, false},
		{"a clock", `"time"`, `_ = time.Now()`, true, true},
		{"a clock passed on", `clock "time"`, `f := clock.Now; _ = f`, true, true},
		{"a seeded source", `"math/rand/v2"`, `_ = rand.New(rand.NewPCG(1, 2)).IntN(3)`, true, false},
		{"the global source", `"math/rand/v2"`, `_ = rand.IntN(3)`, true, true},
		{"the old global source", `"math/rand"`, `_ = rand.Int()`, true, true},
		{"a goroutine", `"fmt"`, `go fmt.Println()`, true, true},
		{"a select", `"fmt"`, `select {}`, true, true},
		{"a mutex", `"sync"`, `var mu sync.Mutex; mu.Lock()`, true, true},
		{"a method called Now", `"fmt"`, `var time interface{ Now() }; fmt.Print(time)`, true, false},
		{"the transport", `"github.com/hashicorp/memberlist"`, `go memberlist.Create(nil)`, false, true},
		{"a file of keys", `"os"`, `_ = os.Args`, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := mustParse(t, "gossip/x.go", "package gossip\nimport "+tt.imports+"\nfunc f() { "+tt.body+" }\n")
			if isCore(s) != tt.core {
				t.Errorf("core is %v", isCore(s))
			}
			if got := impurities(s); len(got) > 0 != tt.breaks {
				t.Errorf("got %q, want broken: %v", got, tt.breaks)
			}
		})
	}
	for _, path := range []string{"gossip/x_test.go", "region/x.go", "gossipx/x.go"} {
		if isCore(source{path: path}) {
			t.Errorf("%s counts as core", path)
		}
	}
}
