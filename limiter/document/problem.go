package document

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxProblems is how many problems of a file are reported; the rest are counted.
const MaxProblems = 20

// Problem is one thing that is wrong.
type Problem struct {
	// Where in a file; Line and Column count from 1, in characters. File is
	// empty where the problem is in no file, Line is 0 where it has no line.
	File         string
	Line, Column int
	// Field is the path to the field, empty for the file as a whole.
	Field string
	// Reason says what is wrong and what would be right.
	Reason string
}

// String is the problem on one line: file:line:column: field: reason.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
		}
		b.WriteString(": ")
	}
	if p.Field != "" {
		b.WriteString(p.Field)
		b.WriteString(": ")
	}
	b.WriteString(p.Reason)
	return b.String()
}

// maxQuoted is how much of a value a message repeats, in bytes.
const maxQuoted = 100

// Quote is a value in quotes for a message, cut when it is long.
func Quote(s string) string {
	if len(s) <= maxQuoted {
		return strconv.Quote(s)
	}
	cut := maxQuoted
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strconv.Quote(s[:cut]) + "…"
}

// Problems collects what is wrong, at most MaxProblems. The zero value is
// ready; it belongs to one goroutine.
type Problems struct {
	list []Problem
	more int
}

// Add records a problem.
func (p *Problems) Add(problem Problem) {
	if len(p.list) == MaxProblems {
		p.more++
		return
	}
	p.list = append(p.list, problem)
}

// Count is how many problems were added, those not kept included.
func (p *Problems) Count() int { return len(p.list) + p.more }

// Err returns nil when nothing is wrong, and an *Error otherwise.
func (p *Problems) Err() error {
	if len(p.list) == 0 {
		return nil
	}
	sorted := slices.Clone(p.list)
	slices.SortStableFunc(sorted, inFile)
	return &Error{Problems: sorted, More: p.more}
}

// inFile orders problems as a file is read, those in no file last.
func inFile(a, b Problem) int {
	if (a.File == "") != (b.File == "") {
		return cmp.Compare(b.File, a.File)
	}
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

// Error is what is wrong, in the order of the file.
type Error struct {
	Problems []Problem
	// More is how many further problems are not listed.
	More int
}

// Error has one line for each problem.
func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.More))
	}
	return strings.Join(lines, "\n")
}
