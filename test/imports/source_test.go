package imports

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// module is the path of the module whose tree is examined.
const module = "weir"

// root is the module's root, seen from this package.
const root = "../.."

// source is one Go file.
type source struct {
	path    string // from the module's root, with slashes
	imports []string
	syntax  *ast.File
}

// dir is the package's folder, from the module's root.
func (s source) dir() string {
	if i := strings.LastIndexByte(s.path, '/'); i >= 0 {
		return s.path[:i]
	}
	return "."
}

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// parse reads the text of one file.
func parse(path string, text any) (source, error) {
	syntax, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
	if err != nil {
		return source{}, err
	}
	s := source{path: path, syntax: syntax}
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return source{}, err
		}
		s.imports = append(s.imports, imported)
	}
	return s, nil
}

// mustParse reads a file written in a test.
func mustParse(t *testing.T, path, text string) source {
	t.Helper()
	s, err := parse(path, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sources reads the module's Go files.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for _, path := range files(t) {
		if !strings.HasSuffix(path, ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		s, err := parse(path, text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if len(all) < 10 {
		t.Fatalf("found %d Go files: this is not the module's tree", len(all))
	}
	return all
}

// files lists the module's files, without hidden ones, what was built, test
// data and nested modules.
func files(t *testing.T) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name := entry.Name()
		if strings.HasPrefix(name, ".") {
			return skip(entry)
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if err == nil || relative == "bin" || name == "testdata" {
				return fs.SkipDir
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		paths = append(paths, filepath.ToSlash(relative))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func skip(entry fs.DirEntry) error {
	if entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// within reports whether a path is tree or lies in it.
func within(path, tree string) bool {
	return path == tree || strings.HasPrefix(path, tree+"/")
}
