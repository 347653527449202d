// Package imports holds the rules of the source tree as tests: which package
// may import which, which ones know no clock and no world outside, where things
// lie, and that what the documents point to exists.
//
// It reads every Go file of the module, whatever its build constraints; nested
// modules have rules of their own.
package imports
