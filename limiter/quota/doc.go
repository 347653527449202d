// Package quota decides whether a global quota has room, in plain Go, and as
// part of a script for Redis beside it.
//
// What a region may take is bounded by what it knows of the global value:
//
//	elsewhere + what its own replicas took + cost ≤ limit
//
// Nothing here keeps state or reads a clock.
package quota

import _ "embed"

// RowLua defines the functions that read and write a quota's row in Redis; a
// store puts it before the script that calls them. Its header says what they
// take and give.
//
//go:embed quota.lua
var RowLua string
