package imports

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// trees are the folders at the top, once and for all.
var trees = []string{"cmd", "crdt", "deploy", "docs", "gossip", "limiter", "proto", "region", "test"}

// vague matches names that say nothing: what such a thing holds has a name.
var vague = regexp.MustCompile(`(?i)^(base|common|helpers?|misc|shared|stuff|tools?|utils?|utilities)$`)

// vagueType matches names of types that only say that they are code.
var vagueType = regexp.MustCompile(`(Manager|Helper|Helpers|Util|Utils|Impl)$`)

// misplaced lists files that lie where none should, and names that say
// nothing.
func misplaced(paths []string) (found []string) {
	seen := make(map[string]bool)
	for _, path := range paths {
		parts := strings.Split(path, "/")
		if len(parts) == 1 {
			if strings.HasSuffix(path, ".go") {
				found = append(found, fmt.Sprintf("%s: no Go file lies at the top", path))
			}
			continue
		}
		if !slices.Contains(trees, parts[0]) && !seen[parts[0]] {
			seen[parts[0]] = true
			found = append(found, fmt.Sprintf("%s: the folders at the top are %s", parts[0], strings.Join(trees, ", ")))
		}
		for i, part := range parts {
			name, _, _ := strings.Cut(part, ".")
			if i == len(parts)-1 {
				if !strings.HasSuffix(part, ".go") {
					continue
				}
				name = strings.TrimSuffix(name, "_test")
			}
			if vague.MatchString(name) {
				found = append(found, fmt.Sprintf("%s: the name %q says nothing", path, name))
			}
		}
	}
	return found
}

// vagueTypes lists types whose names say nothing.
func vagueTypes(s source) (found []string) {
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && vagueType.MatchString(spec.Name.Name) {
			found = append(found, fmt.Sprintf("%s: the name %s says nothing", s.path, spec.Name.Name))
		}
		return true
	})
	return found
}

func TestLayout(t *testing.T) {
	for _, what := range misplaced(files(t)) {
		t.Error(what)
	}
	for _, s := range sources(t) {
		for _, what := range vagueTypes(s) {
			t.Error(what)
		}
	}
}

func TestLayoutRulesCanFail(t *testing.T) {
	for path, breaks := range map[string]bool{
		"README.md":                false,
		"go.mod":                   false,
		"cmd/weir/main.go":         false,
		"main.go":                  true,
		"internal/x.go":            true,
		"pkg/x/x.go":               true,
		"region/util/x.go":         true,
		"region/utils.go":          true,
		"region/helpers_test.go":   true,
		"limiter/common/x.go":      true,
		"limiter/commonality.go":   false,
		"docs/misc.md":             false,
		"region/dashboard/base.js": false,
	} {
		if got := misplaced([]string{path}); len(got) > 0 != breaks {
			t.Errorf("%s: got %q, want broken: %v", path, got, breaks)
		}
	}
	for name, breaks := range map[string]bool{"Node": false, "KeyManager": true, "storeImpl": true, "Implicit": false} {
		s := mustParse(t, "region/x.go", "package region\ntype "+name+" struct{}\n")
		if got := vagueTypes(s); len(got) > 0 != breaks {
			t.Errorf("%s: got %q, want broken: %v", name, got, breaks)
		}
	}
}
