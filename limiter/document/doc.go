// Package document reads the YAML files that people write for Weir, strictly:
// every problem has a position, a field, a reason and what would be right;
// nothing unknown is ignored, and nothing is guessed.
//
// # Basics
//
// Parse returns the root Value of a file. A reader asks it for Fields, Entries,
// Items or Text; each records what is wrong in the file's Problems and goes on,
// so that one reading finds all of them. When the reader is through, Problems.Err
// is nil or holds the first MaxProblems of them, one a line.
//
// # What is accepted
//
// One UTF-8 document of block and flow mappings, sequences and scalars; comments;
// a leading byte order mark, "---", and CRLF line ends. A scalar is its text:
// quotes change nothing, so 5 and "5" are the same number and the same word.
//
// Refused, each with its own message: a second document, duplicate keys,
// anchors, aliases, merge keys, tags, directives, complex keys, control
// characters, tabs outside comments, files over MaxBytes, nesting over MaxDepth,
// mappings of more than MaxKeys keys. Anchors are refused because no position in
// an aliased part says where it is used, and because merging is not in YAML 1.2.
package document
