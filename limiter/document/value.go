package document

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Value is one value of a file, with its place and its path. The zero Value is
// a value that is not there.
type Value struct {
	file *file
	node ast.Node
	at   position
	// path is the field's name in messages; named says that it ends in a
	// label, after which a field is set off by ": " instead of ".".
	path  string
	named bool
}

type position struct{ line, column int }

func positionOf(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{}
	}
	return position{t.Position.Line, max(1, t.Position.Column)}
}

// start is where a node begins, which for mappings is their first key.
func start(n ast.Node) position {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return start(n.Values[0])
		}
		return positionOf(n.Start)
	case *ast.MappingValueNode:
		return start(n.Key)
	case *ast.LiteralNode:
		return positionOf(n.Start)
	case nil:
		return position{}
	}
	return positionOf(n.GetToken())
}

// Given says whether the value is in the file.
func (v Value) Given() bool { return v.file != nil }

// Path is the value's name in messages, such as rules[2] "daily": limit.
func (v Value) Path() string { return v.path }

// Place is where the value begins, counted from 1.
func (v Value) Place() (file string, line, column int) {
	return v.file.name, v.at.line, v.at.column
}

// Problem records what is wrong with the value.
func (v Value) Problem(format string, args ...any) {
	v.file.add(v.at, v.path, format, args...)
}

// Labelled returns the value with a label in its path: rules[2] becomes
// rules[2] "daily".
func (v Value) Labelled(label string) Value {
	v.path += " " + Quote(label)
	v.named = true
	return v
}

func (v Value) child(name string, node ast.Node, at position) Value {
	name = word(name)
	c := Value{file: v.file, node: node, at: at, path: name}
	switch {
	case v.named:
		c.path = v.path + ": " + name
	case v.path != "":
		c.path = v.path + "." + name
	}
	return c
}

// word is a key as it stands in a path: in quotes when it would not read as one
// word, and cut when it is long.
func word(name string) string {
	plain := func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) && r != '"' }
	if name == "" || len(name) > maxQuoted || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return Quote(name)
	}
	return name
}

func (v Value) item(i int, node ast.Node) Value {
	return Value{file: v.file, node: node, at: start(node), path: fmt.Sprintf("%s[%d]", v.path, i)}
}

// IsMapping says whether the value is a mapping.
func (v Value) IsMapping() bool {
	switch v.node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	}
	return false
}

// IsList says whether the value is a list.
func (v Value) IsList() bool {
	_, ok := v.node.(*ast.SequenceNode)
	return ok
}

// IsEmpty says whether nothing, or null, is written.
func (v Value) IsEmpty() bool {
	_, ok := v.node.(*ast.NullNode)
	return ok
}

// kind is what the value is, for messages.
func (v Value) kind() string {
	switch {
	case v.IsMapping():
		return "a mapping"
	case v.IsList():
		return "a list"
	case v.IsEmpty():
		return "empty"
	}
	return "a single value"
}

// Text is a scalar as it is written, quotes and escapes resolved.
func (v Value) Text() (text string, ok bool) {
	if text, ok = scalar(v.node); ok {
		return text, true
	}
	if v.IsEmpty() {
		v.Problem("is empty; write a value, or remove the field")
	} else {
		v.Problem("is %s; write a single value%s", v.kind(), v.colonHint())
	}
	return "", false
}

// scalar is the text of any scalar but null.
func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// Items are the values of a list.
func (v Value) Items() (items []Value, ok bool) {
	list, ok := v.node.(*ast.SequenceNode)
	if !ok {
		v.Problem("is %s; write a list, such as [a, b]", v.kind())
		return nil, false
	}
	for i, node := range list.Values {
		items = append(items, v.item(i, node))
	}
	return items, true
}

// ItemsOrOne are the values of a list; a single value is a list of one.
func (v Value) ItemsOrOne() (items []Value, ok bool) {
	if _, ok := scalar(v.node); ok {
		return []Value{v}, true
	}
	if !v.IsList() {
		v.Problem("is %s; write a value or a list, such as [a, b]", v.kind())
		return nil, false
	}
	return v.Items()
}

// colonHint speaks to whom wrote [host:7422] within braces, which the parser
// takes for a mapping.
func (v Value) colonHint() string {
	if v.IsMapping() {
		return ", in quotes where it holds a colon"
	}
	return ""
}
