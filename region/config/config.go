// Package config reads what a node is told: weir.yaml, flags and environment.
//
// There is one table of fields (fields.go); the file, the flags, the variables,
// what --print-config shows and the table in docs/config.md all come from it.
// A flag goes before a variable, a variable before the file, the file before
// the default. Every source is checked, also where another goes before it.
package config

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"time"

	"weir/limiter/document"
)

// Config is what a node is told. Load makes it, checked; Defaults makes one
// for a program to fill in.
type Config struct {
	// Region is this node's region, Node its name, unique among all nodes.
	Region, Node string
	// Regions are all that share global quotas, in the order written.
	Regions []Region
	Listen  Listen
	// Store is MemoryStore or a URL, which may hold a password.
	Store  string
	Gossip Gossip
	// Rules is the path of the rules file.
	Rules string
	// Snapshot is the path of the state file; empty keeps no state.
	Snapshot         string
	SnapshotInterval time.Duration
	Limits           Limits
	// Insecure allows listening beyond loopback without credentials.
	Insecure bool

	origins map[string]origin
}

// Region is one region and its weight in the first split of quotas.
type Region struct {
	Name   string
	Weight int
}

// Listen are addresses, host:port; port 0 takes a free one. The host of Gossip
// is an IP address, localhost or empty.
type Listen struct{ GRPC, HTTP, Gossip string }

// Gossip says how nodes find each other and keep others out.
type Gossip struct {
	// Join are host:port or dns+srv://NAME.
	Join []string
	// KeyringFile holds the keys; empty leaves gossip in the clear.
	KeyringFile string
	// Advertise is the IP:port that others reach this node's gossip at, empty
	// when it is the one listened at.
	Advertise string
}

// Limits bound what a node holds and does at a time.
type Limits struct {
	Keys             int // buckets in the embedded store
	QuotaRows        int // quota keys and periods
	ConcurrentChecks int // checks being decided
}

// MemoryStore is the Store of a region of one node without Redis.
const MemoryStore = "memory"

// StoreKind is "memory" or "redis".
func (c *Config) StoreKind() string {
	if c.Store == MemoryStore {
		return MemoryStore
	}
	return "redis"
}

// RegionNames are the names of all regions, in the order written.
func (c *Config) RegionNames() []string {
	names := make([]string, len(c.Regions))
	for i, r := range c.Regions {
		names[i] = r.Name
	}
	return names
}

// Defaults is a configuration of defaults only. It has no region, no node and
// no rules: those are the caller's to fill in.
func Defaults() *Config {
	c := &Config{origins: map[string]origin{}}
	for i := range fields {
		f := &fields[i]
		for _, text := range f.defaults() {
			f.set(c, []item{f.item("", text, func(reason string) {
				panic(fmt.Sprintf("default of %s: %s", f.path, reason)) // a wrong table, which any test meets
			})})
		}
	}
	return c
}

// ReadFile reads a configuration or rules file, at most one byte more than such
// a file may have; its reader then says that it is too big.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, document.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	return data, nil
}

// EnvDefault is the variable's value, or the default when it is unset or empty.
func EnvDefault(name, def string) string {
	return cmp.Or(os.Getenv(name), def)
}

// origin is where a value came from: a place in the file, a variable, a flag.
type origin struct {
	file         string
	line, column int
	name         string // of the variable or flag
}

func (o origin) String() string {
	switch {
	case o.file != "":
		return fmt.Sprintf("%s:%d:%d", o.file, o.line, o.column)
	case o.name != "":
		return o.name
	}
	return "default"
}

// problem is a problem with a field, where its value came from.
func (o origin) problem(path, format string, args ...any) document.Problem {
	return document.Problem{File: o.file, Line: o.line, Column: o.column,
		Field: cmp.Or(o.name, path), Reason: fmt.Sprintf(format, args...)}
}
