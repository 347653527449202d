package document

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// outline reads a whole file and writes it as path = text, one a line.
func outline(v Value) string {
	var b strings.Builder
	var walk func(v Value)
	walk = func(v Value) {
		switch {
		case v.IsMapping():
			entries, _ := v.Entries()
			for _, e := range entries {
				walk(e.Value)
			}
		case v.IsList():
			items, _ := v.Items()
			for _, item := range items {
				walk(item)
			}
		case v.IsEmpty():
			fmt.Fprintf(&b, "%d:%d %s empty\n", v.at.line, v.at.column, v.Path())
		default:
			text, _ := v.Text()
			fmt.Fprintf(&b, "%d:%d %s = %q\n", v.at.line, v.at.column, v.Path(), text)
		}
	}
	walk(v)
	return b.String()
}

func readAll(data string) (string, error) {
	var problems Problems
	root, ok := Parse("f", []byte(data), &problems)
	if !ok {
		return "", problems.Err()
	}
	return outline(root), problems.Err()
}

func TestAccepted(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"scalars as written": {"a: 1e6\nb: \"x\\ty\"\nc: 'it''s'\nd: 0x1F\ne: 1.50\nf: .inf\ng: yes\nh: 2026-01-01\n",
			"1:4 a = \"1e6\"\n2:4 b = \"x\\ty\"\n3:4 c = \"it's\"\n4:4 d = \"0x1F\"\n5:4 e = \"1.50\"\n6:4 f = \".inf\"\n7:4 g = \"yes\"\n8:4 h = \"2026-01-01\"\n"},
		"nesting":         {"a:\n  b: [x, {c: y}]\n  d:\n  - z\n", "2:7 a.b[0] = \"x\"\n2:14 a.b[1].c = \"y\"\n4:5 a.d[0] = \"z\"\n"},
		"block scalar":    {"a: |\n  x\n  y\n", "1:4 a = \"x\\ny\\n\"\n"},
		"many lines":      {"a: x\n  y\n", "1:4 a = \"x y\"\n"},
		"empty values":    {"a:\nb: ~\nc: null\nd: {e: }\n", "1:3 a empty\n2:4 b empty\n3:4 c empty\n4:7 d.e empty\n"},
		"byte order mark": {"\ufeffa: 1\n", "1:4 a = \"1\"\n"},
		"CRLF":            {"a: 1\r\nb:\r\n  - é: x\r\n", "1:4 a = \"1\"\n3:8 b[0].é = \"x\"\n"},
		"start and end":   {"# c\n---\na: 1 # c\n...\n", "3:4 a = \"1\"\n"},
		"no line end":     {"a: 1", "1:4 a = \"1\"\n"},
		"tab in comments": {"#\tb\na: x # b\tc\n", "2:4 a = \"x\"\n"},
		"colon first":     {"a: {b: :7420}\n", "1:8 a.b = \":7420\"\n"},
		"odd key":         {"\"a b\": {\"\": 1}\n", "1:13 \"a b\".\"\" = \"1\"\n"},
		"empty lists":     {"a: []\nb: {}\nc: 1\n", "3:4 c = \"1\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readAll(c.file)
			if err != nil || got != c.want {
				t.Errorf("got %s%v\nwant %s", got, err, c.want)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"empty":             {"", "f: is empty"},
		"blank":             {" \n\n", "f: is empty"},
		"comment":           {"# c", "f: is empty"},
		"only a start":      {"---\n", "f: is empty"},
		"duplicate":         {"a: 1\nb: 2\na: 3\n", "f:3:1: a: is given twice, first in line 1; remove one"},
		"duplicate quoted":  {"a: 1\n\"a\": 3\n", "f:2:1: a: is given twice, first in line 1; remove one"},
		"second document":   {"a: 1\n---\nb: 2\n", "f:2:1: a second document; write one document a file"},
		"second after end":  {"a: 1\n...\nb: 2\n", "f:3:1: a second document; write one document a file"},
		"anchor":            {"a: &x 1\n", "f:1:4: anchors are not supported; write the value where it is used"},
		"alias":             {"a: *x\n", "f:1:4: aliases are not supported; write the value where it is used, in quotes if it begins with *"},
		"merge":             {"<<: {a: 1}\n", "f:1:1: merge keys are not supported; write the fields where they are used"},
		"tag":               {"a: !!str 1\n", "f:1:4: tags are not supported; write the value alone, in quotes if it begins with !"},
		"directive":         {"%YAML 1.2\n---\na: 1\n", "f:1:1: directives are not supported; remove the line"},
		"complex key":       {"? a\n: b\n", "f:1:1: complex keys are not supported; write KEY: VALUE, in quotes if the value begins with ?"},
		"tab":               {"a:\n\tb: 1\n", "f:2:1: tab; indent and separate with spaces, or write \\t in double quotes"},
		"tab at the start":  {"\ta: 1\n", "f:1:1: tab; indent and separate with spaces, or write \\t in double quotes"},
		"tab in a value":    {"a: é\ty # \t\n", "f:1:5: tab; indent and separate with spaces, or write \\t in double quotes"},
		"tab in quotes":     {"a: \"x\ty\"\n", "f:1:6: tab; indent and separate with spaces, or write \\t in double quotes"},
		"lone CR":           {"a: 1\rb: 2\n", "f:1:5: carriage return without a line feed; end lines with LF or CRLF"},
		"control character": {"a: x\x07\n", "f:1:5: control character U+0007; remove it, or write it escaped in double quotes"},
		"NUL":               {"a: 1\nb: \x00\n", "f:2:4: control character U+0000; remove it, or write it escaped in double quotes"},
		"later mark":        {"a: \ufeff1\n", "f:1:4: control character U+FEFF; remove it, or write it escaped in double quotes"},
		"not UTF-8":         {"é: \xe9\n", "f:1:4: byte 0xe9 is not UTF-8; save the file as UTF-8"},
		"UTF-16":            {"\xff\xfea\x00", "f: is UTF-16; save it as UTF-8"},
		"not closed":        {"a: [1, 2\n", "f:1:4: not YAML: sequence end token ']' not found"},
		"bracket too many":  {"a: ]\n", "f:1:4: not YAML: could not find '[' character corresponding to ']'"},
		"two values":        {"a: \"b\" c\n", "f:1:8: not YAML: value is not allowed in this context. map key-value is pre-defined"},
		"too big":           {strings.Repeat("#", MaxBytes+1), "f: is over 1048576 bytes, the most a file may have"},
		"deep flow":         {"a: " + strings.Repeat("[", MaxDepth), "f:1:23: is nested deeper than 20 levels"},
		"deep lists":        {strings.Repeat("- ", MaxDepth+1), "f:1:41: is nested deeper than 20 levels"},
		"many keys":         {"a:\n" + numbered(" ", MaxKeys+1), "f:1002:7: a mapping of more than 1000 keys"},
		"many keys in flow": {"a: {" + strings.ReplaceAll(numbered("", MaxKeys+1), "\n", ",") + "}", "f:1:7900: a mapping of more than 1000 keys"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readAll(c.file)
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v %s\nwant %s", err, got, c.want)
			}
		})
	}
}

func numbered(indent string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%sk%d: 1\n", indent, i)
	}
	return b.String()
}

// Whatever a large file holds, it is read or refused in bounded time and stack.
func TestLargeFiles(t *testing.T) {
	for name, unit := range map[string]string{
		"flow": "[", "lists": "- ", "keys": "a: ", "anchors": "&a ", "tags": "!a ", "questions": "? ", "commas": ",",
		"mappings": "{a: ", "quotes": "\"", "words": "a ", "lines": "a\n", "items": "- a\n", "fields": "a: b\n",
		"comments": "#\n", "scalars": "|\n", "ends": "...\n", "starts": "---\n", "closing": "]", "colons": ":", "percent": "%",
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			if _, err := readAll(strings.Repeat(unit, MaxBytes/4/len(unit))); err != nil && len(err.Error()) > 1000 {
				t.Errorf("a message of %d bytes", len(err.Error()))
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a: 1\nb: [x, {c: y}]\n", "a:\n- b: |\n    x\n", "'a': \"b\" # c\n", "- - - a\n", "a: {b, c: }\n", "? a\n", "a: >-\n x\n\n y\n", "\ta: 1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var problems Problems
		root, ok := Parse("f", []byte(s), &problems)
		if !ok {
			if problems.Count() != 1 || strings.Contains(problems.Err().Error(), "\n") {
				t.Fatalf("problems: %v", problems.Err())
			}
			return
		}
		outline(root)
		if lost := lostTokens(root.file, s); lost != "" {
			t.Fatalf("%q is in no value", lost)
		}
	})
}

// lostTokens finds a scalar of the file that the parser dropped: a field that
// would be ignored.
func lostTokens(f *file, s string) string {
	text, _ := f.text([]byte(s))
	body, err := parse(text)
	if err != nil {
		return ""
	}
	seen := seenTokens{}
	ast.Walk(seen, body)
	want := map[token.Position]string{}
	for _, k := range lexer.Tokenize(text) {
		switch k.Type {
		case token.StringType, token.SingleQuoteType, token.DoubleQuoteType, token.IntegerType, token.FloatType, token.BoolType:
			want[*k.Position] = k.Value
		}
	}
	for at, value := range want {
		if !seen[at] {
			return value
		}
	}
	return ""
}

type seenTokens map[token.Position]bool

func (s seenTokens) Visit(n ast.Node) ast.Visitor {
	if l, ok := n.(*ast.LiteralNode); ok {
		n = l.Value
	}
	if k := n.GetToken(); k != nil {
		s[*k.Position] = true
	}
	return s
}
