package imports

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// The replication core in package gossip takes messages and ticks in and gives
// messages out, so that the simulator can run it from a seed. It is the type
// coreType with all that it reaches in its package; the transport, which knows
// goroutines, clocks and sockets, lies in the same package around it.
const (
	coreDir  = "gossip"
	coreType = "Core"
)

// banned are the functions by which the core would get at a clock or at global
// random numbers. A nil list bans the whole package.
var banned = map[string][]string{
	"time":         {"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"},
	"math/rand/v2": {"Float32", "Float64", "Int", "Int32", "Int32N", "Int64", "Int64N", "IntN", "N", "Perm", "Shuffle", "Uint", "Uint32", "Uint32N", "Uint64", "Uint64N", "UintN", "NormFloat64", "ExpFloat64"},
	"context":      nil,
	"crypto/rand":  nil,
	"math/rand":    nil,
	"net":          nil,
	"os":           nil,
	"sync":         nil,
	"sync/atomic":  nil,
	"log/slog":     {"Debug", "Default", "Error", "Info", "Warn"},

	"github.com/hashicorp/memberlist": nil,
}

// coreOf returns the files of the replication core: those that declare coreType
// or its methods, those that declare what a core file names, and those with
// methods of a type that a core file declares.
func coreOf(all []source) (core []source) {
	owners := make(map[string][]source) // by name declared, or type with methods
	for _, s := range all {
		if s.dir() == coreDir && !s.isTest() {
			for _, name := range declared(s.syntax) {
				owners[name] = append(owners[name], s)
			}
		}
	}
	taken := make(map[string]bool)
	next := []string{coreType}
	for len(next) > 0 {
		files := owners[next[0]]
		next = next[1:]
		for _, s := range files {
			if taken[s.path] {
				continue
			}
			taken[s.path] = true
			core = append(core, s)
			next = append(next, declared(s.syntax)...)
			for _, name := range s.syntax.Unresolved { // declared elsewhere
				next = append(next, name.Name)
			}
		}
	}
	return core
}

// declared lists the names that a file declares in its package, and the types
// that it has methods of.
func declared(file *ast.File) (names []string) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			name := decl.Name
			if decl.Recv != nil {
				name = receiver(decl.Recv.List[0].Type)
			}
			names = append(names, name.Name)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "_" || name == "init" })
}

// receiver returns the name of a method's type.
func receiver(expr ast.Expr) *ast.Ident {
	switch expr := expr.(type) {
	case *ast.StarExpr:
		return receiver(expr.X)
	case *ast.IndexExpr:
		return receiver(expr.X)
	case *ast.IndexListExpr:
		return receiver(expr.X)
	case *ast.Ident:
		return expr
	}
	return ast.NewIdent("_")
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
	core := coreOf(sources(t))
	if len(core) == 0 {
		t.Errorf("package %s declares no type %s", coreDir, coreType)
	}
	for _, s := range core {
		for _, what := range impurities(s) {
			t.Error(what)
		}
	}
}

func TestCoreRuleCanFail(t *testing.T) {
	tests := []struct {
		name, imports, body string
		breaks              bool
	}{
		{"durations are values", `"time"`, `_ = time.Second`, false},
		{"a clock", `"time"`, `_ = time.Now()`, true},
		{"a clock passed on", `clock "time"`, `f := clock.Now; _ = f`, true},
		{"a seeded source", `"math/rand/v2"`, `_ = rand.New(rand.NewPCG(1, 2)).IntN(3)`, false},
		{"the global source", `"math/rand/v2"`, `_ = rand.IntN(3)`, true},
		{"the old global source", `"math/rand"`, `_ = rand.Int()`, true},
		{"a goroutine", `"fmt"`, `go fmt.Println()`, true},
		{"a select", `"fmt"`, `select {}`, true},
		{"a mutex", `"sync"`, `var mu sync.Mutex; mu.Lock()`, true},
		{"a method called Now", `"fmt"`, `var time interface{ Now() }; fmt.Print(time)`, false},
		{"the transport", `"github.com/hashicorp/memberlist"`, `memberlist.Create(nil)`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := mustParse(t, "gossip/x.go", "package gossip\nimport "+tt.imports+"\nfunc f() { "+tt.body+" }\n")
			if got := impurities(s); len(got) > 0 != tt.breaks {
				t.Errorf("got %q, want broken: %v", got, tt.breaks)
			}
		})
	}
}

func TestCoreIsWhatItReaches(t *testing.T) {
	var all []source
	for path, text := range map[string]string{
		"gossip/core.go":      "type Core struct { r rows }\nfunc (c *Core) Step() { decode() }",
		"gossip/tick.go":      "func (c *Core) Tick() { _ = limit; var local int; _ = local }",
		"gossip/rows.go":      "type rows struct{}",
		"gossip/merge.go":     "func (r rows) merge() { defer rank() }",
		"gossip/rank.go":      "func rank() {}",
		"gossip/decode.go":    "func decode() {}",
		"gossip/limits.go":    "const limit = 3",
		"gossip/mesh.go":      "type Mesh struct { core *Core }\nfunc local() {}",
		"gossip/core_test.go": "func decode() {}",
		"region/core.go":      "func decode() {}",
	} {
		all = append(all, mustParse(t, path, "package p\n"+text))
	}
	var got []string
	for _, s := range coreOf(all) {
		got = append(got, s.path)
	}
	slices.Sort(got)
	want := []string{"gossip/core.go", "gossip/decode.go", "gossip/limits.go", "gossip/merge.go",
		"gossip/rank.go", "gossip/rows.go", "gossip/tick.go"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
