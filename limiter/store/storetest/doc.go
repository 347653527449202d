// Package storetest holds what tests of stores share: the table of scenarios
// that every store must pass, a reference to compare it with, and real Redis
// servers.
package storetest
