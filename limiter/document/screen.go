package document

import (
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"
)

// refused are the parts of YAML that a file may not use, and why.
var refused = map[token.Type]string{
	token.AnchorType:     "anchors are not supported; write the value where it is used",
	token.AliasType:      "aliases are not supported; write the value where it is used, in quotes if it begins with *",
	token.MergeKeyType:   "merge keys are not supported; write the fields where they are used",
	token.TagType:        "tags are not supported; write the value alone, in quotes if it begins with !",
	token.DirectiveType:  "directives are not supported; remove the line",
	token.MappingKeyType: "complex keys are not supported; write KEY: VALUE, in quotes if the value begins with ?",
}

const secondDocument = "a second document; write one document a file"

// screen refuses, before anything recursive sees the tokens, what the parser
// would need unbounded stack or quadratic time for, and what is not supported.
func screen(tokens token.Tokens) error {
	var n nesting
	for i, t := range tokens {
		if t.Type == token.InvalidType {
			continue // the parser says what is wrong
		}
		if reason, ok := refused[t.Type]; ok {
			return faultAt(t, "%s", reason)
		}
		if t.Type == token.DocumentHeaderType && i > 0 && hasContent(tokens[:i]) {
			return faultAt(t, secondDocument)
		}
		if err := n.token(t); err != nil {
			return err
		}
	}
	return nil
}

func hasContent(tokens token.Tokens) bool {
	for _, t := range tokens {
		if t.Type != token.CommentType {
			return true
		}
	}
	return false
}

// strayTab finds the first tab outside comments. The parser takes one away from
// within a plain scalar, and nobody can see whether it indents.
func strayTab(text string, tokens token.Tokens) (at position, found bool) {
	if !strings.Contains(text, "\t") {
		return position{}, false
	}
	comments := map[int]int{} // column by line
	for _, t := range tokens {
		if t.Type == token.CommentType {
			comments[t.Position.Line] = t.Position.Column
		}
	}
	for i, line := range strings.Split(text, "\n") {
		before, _, ok := strings.Cut(line, "\t")
		column := utf8.RuneCountInString(before) + 1
		if comment, has := comments[i+1]; ok && (!has || column < comment) {
			return position{i + 1, column}, true
		}
	}
	return position{}, false
}

// nesting follows how deep the tokens are and how many keys each level has. A
// block level is known by its column, a flow level by its bracket.
type nesting struct{ levels []level }

type level struct {
	column, keys int
	flow         bool
}

func (n *nesting) token(t *token.Token) error {
	switch t.Type {
	case token.MappingStartType, token.SequenceStartType:
		return n.push(t, level{flow: true})
	case token.MappingEndType, token.SequenceEndType:
		n.closeFlow()
	case token.SequenceEntryType:
		return n.block(t, t.Position.Column)
	case token.MappingValueType:
		if n.inFlow() {
			return n.key(t)
		}
		column := t.Position.Column
		if t.Prev != nil && t.Prev.Position.Line == t.Position.Line {
			column = t.Prev.Position.Column
		}
		if err := n.block(t, column); err != nil {
			return err
		}
		return n.key(t)
	}
	return nil
}

func (n *nesting) push(t *token.Token, l level) error {
	if len(n.levels) == MaxDepth {
		return faultAt(t, "is nested deeper than %d levels", MaxDepth)
	}
	n.levels = append(n.levels, l)
	return nil
}

func (n *nesting) inFlow() bool {
	return len(n.levels) > 0 && n.levels[len(n.levels)-1].flow
}

// closeFlow drops the innermost flow level. A bracket that closes nothing is
// left to the parser.
func (n *nesting) closeFlow() {
	if n.inFlow() {
		n.levels = n.levels[:len(n.levels)-1]
	}
}

// block makes the level of a column the innermost one.
func (n *nesting) block(t *token.Token, column int) error {
	if n.inFlow() {
		return nil
	}
	for len(n.levels) > 0 && n.levels[len(n.levels)-1].column > column {
		n.levels = n.levels[:len(n.levels)-1]
	}
	if len(n.levels) > 0 && n.levels[len(n.levels)-1].column == column {
		return nil
	}
	return n.push(t, level{column: column})
}

// key counts a key of the innermost level.
func (n *nesting) key(t *token.Token) error {
	l := &n.levels[len(n.levels)-1]
	l.keys++
	if l.keys > MaxKeys {
		return faultAt(t, "a mapping of more than %d keys", MaxKeys)
	}
	return nil
}
