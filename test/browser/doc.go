// Package browser holds the dashboard's tests in a real browser, Debian's
// chromium, driven over its debugging protocol. Where chromium is missing they
// fail and say how to get it.
//
// A check that any node must pass takes a base URL; the tests run it against a
// node that the test plays, where regions are cut off and keys are hostile at
// will. With -shots DIR the tests leave pictures of what they saw.
package browser
