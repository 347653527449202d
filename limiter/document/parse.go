package document

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of a file.
const (
	MaxBytes = 1 << 20
	MaxDepth = 20
	MaxKeys  = 1000
)

// Parse reads a file into its root value. The name is only for messages. When
// the file cannot be read at all, the problem is added and ok is false.
func Parse(name string, data []byte, problems *Problems) (root Value, ok bool) {
	f := &file{name: name, problems: problems}
	text, ok := f.text(data)
	if !ok {
		return Value{}, false
	}
	body, err := parse(text)
	if err != nil {
		f.syntax(err)
		return Value{}, false
	}
	return Value{file: f, node: body, at: start(body)}, true
}

// file is what the values of one file share.
type file struct {
	name     string
	problems *Problems
}

// fault is an error with its place.
type fault struct {
	at     position
	reason string
}

func (e *fault) Error() string { return e.reason }

func faultAt(t *token.Token, format string, args ...any) error {
	return &fault{at: positionOf(t), reason: fmt.Sprintf(format, args...)}
}

// text checks the bytes and normalises the line ends.
func (f *file) text(data []byte) (string, bool) {
	if len(data) > MaxBytes {
		f.add(position{}, "", "is over %d bytes, the most a file may have", MaxBytes)
		return "", false
	}
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		f.add(position{}, "", "is UTF-16; save it as UTF-8")
		return "", false
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	at := position{line: 1, column: 1}
	for i, r := range text {
		switch {
		case r == utf8.RuneError && invalid(text[i:]):
			f.add(at, "", "byte 0x%02x is not UTF-8; save the file as UTF-8", text[i])
			return "", false
		case r == '\r':
			f.add(at, "", "carriage return without a line feed; end lines with LF or CRLF")
			return "", false
		case forbidden(r):
			f.add(at, "", "control character U+%04X; remove it, or write it escaped in double quotes", r)
			return "", false
		case r == '\n':
			at.line, at.column = at.line+1, 0
		}
		at.column++
	}
	return text, true
}

// invalid tells a broken sequence from a replacement character written out.
func invalid(s string) bool {
	_, size := utf8.DecodeRuneInString(s)
	return size == 1
}

// forbidden are the characters YAML does not allow, and the byte order mark and
// line separators, which look like nothing.
func forbidden(r rune) bool {
	switch {
	case r == '\t' || r == '\n':
		return false
	case r < 0x20, 0x7f <= r && r < 0xa0, r == '\ufeff', r == '\u2028', r == '\u2029':
		return true
	}
	return false
}

// parse returns the body of the only document. A panic of the parser is an
// error: no file may stop a node.
func parse(text string) (body ast.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			body, err = nil, &fault{reason: fmt.Sprintf("cannot be read as YAML (%v)", p)}
		}
	}()
	tokens := lexer.Tokenize(text)
	if err := screen(tokens); err != nil {
		return nil, err
	}
	if at, found := strayTab(text, tokens); found {
		return nil, &fault{at, `tab; indent and separate with spaces, or write \t in double quotes`}
	}
	// Duplicate keys are found later, where both positions are known.
	parsed, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, err
	}
	for _, doc := range parsed.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			return nil, &fault{start(doc.Body), secondDocument}
		}
		body = doc.Body
	}
	if body == nil {
		return nil, &fault{reason: "is empty"}
	}
	return body, nil
}

// syntax adds a parser's error in our words.
func (f *file) syntax(err error) {
	var mine *fault
	if errors.As(err, &mine) {
		f.add(mine.at, "", "%s", mine.reason)
		return
	}
	var theirs yaml.Error
	if !errors.As(err, &theirs) || theirs.GetToken() == nil {
		f.add(position{}, "", "cannot be read as YAML: %s", firstLine(err.Error()))
		return
	}
	f.add(positionOf(theirs.GetToken()), "", "not YAML: %s", firstLine(theirs.GetMessage()))
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func (f *file) add(at position, field, format string, args ...any) {
	f.problems.Add(Problem{File: f.name, Line: at.line, Column: at.column,
		Field: field, Reason: fmt.Sprintf(format, args...)})
}
