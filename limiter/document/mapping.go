package document

import (
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// Entry is one key of a mapping with its value. Problem on Key speaks of the
// key, at its own place.
type Entry struct {
	Name  string
	Key   Value
	Value Value
}

// Entries are the keys of a mapping in the order written. A key that stands
// twice is a problem, and only its first value is returned.
func (v Value) Entries() (entries []Entry, ok bool) {
	var pairs []*ast.MappingValueNode
	switch n := v.node.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		v.Problem("is %s; write a mapping of KEY: VALUE", v.kind())
		return nil, false
	}
	first := make(map[string]Value, len(pairs))
	for _, p := range pairs {
		name, ok := scalar(p.Key)
		if !ok {
			name = p.Key.GetToken().Value // null, written ~ or null
		}
		e := Entry{Name: name, Key: v.child(name, p.Key, start(p.Key)), Value: v.child(name, p.Value, start(p.Value))}
		if before, twice := first[name]; twice {
			e.Key.Problem("is given twice, first in line %d; remove one", before.at.line)
			continue
		}
		first[name] = e.Key
		entries = append(entries, e)
	}
	return entries, true
}

// Fields says which fields a mapping has: those that are read, and those that
// belong to the format but are not implemented in this version.
type Fields struct {
	Known []string
	Later []string
}

// Fields returns the known fields of a mapping by name, nil when the value is
// no mapping. Fields that are not known, or not implemented, are problems; all
// says that there were none, so that a missing field is truly missing.
func (v Value) Fields(f Fields) (known map[string]Value, all bool) {
	entries, ok := v.Entries()
	if !ok {
		return nil, false
	}
	known, all = make(map[string]Value, len(entries)), true
	for _, e := range entries {
		switch {
		case slices.Contains(f.Known, e.Name):
			known[e.Name] = e.Value
			continue
		case slices.Contains(f.Later, e.Name):
			e.Key.Problem(NotImplemented + "; remove it")
		default:
			e.Key.Problem("unknown field%s", DidYouMean(e.Name, f.Known))
		}
		all = false
	}
	return known, all
}

// NotImplemented is what is said of what Weir knows of and this version does
// not do.
const NotImplemented = "not implemented in this version"

// Peek is the text of a scalar field, without recording anything.
func (v Value) Peek(name string) (text string, ok bool) {
	n, _ := v.node.(*ast.MappingNode)
	if n == nil {
		return "", false
	}
	for _, p := range n.Values {
		if key, _ := scalar(p.Key); key == name {
			return scalar(p.Value)
		}
	}
	return "", false
}
