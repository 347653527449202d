// Package bucket holds the regional limits' algorithms in plain Go, and beside
// each the same algorithm as part of a script for Redis. The Go form decides in
// the embedded store and is the reference the script is tested against.
//
// Nothing here keeps state or reads a clock.
package bucket

import _ "embed"

// TokenBucketLua defines the functions that decide a token bucket in Redis; a
// store puts it before the script that calls them. Its header says what they
// take and give.
//
//go:embed tokenbucket.lua
var TokenBucketLua string
