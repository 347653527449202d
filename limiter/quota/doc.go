// Package quota decides whether a region may let units of a global quota
// through, in plain Go ([Row]), and as part of scripts for Redis beside it
// ([RowLua]).
//
// A region may take a cost if both hold:
//
//	(a)  what it knows all regions took, net, + cost  ≤  the quota
//	(b)  cost  ≤  share + received + granted − given − what it took, net
//
// (a) is as true as what the region heard. (b) rests on nothing it need hear:
// all shares together are ⌊Q + ε⌋, and a gift is deducted by whoever gives
// before anybody can receive it. So whatever is lost, late or repeated between
// regions, all of them together let through at most Q + ε.
//
// Nothing here reads a clock.
package quota

import _ "embed"

// RowLua defines the functions that read and write a quota's row in Redis; a
// store puts it before the script that calls them. Its header says what they
// take and give.
//
//go:embed quota.lua
var RowLua string

// GiveLua, RefundLua and LeaseLua define the functions of changes to a row that
// are no takes, each after the ones before it and RowLua.
var (
	//go:embed give.lua
	GiveLua string
	//go:embed refund.lua
	RefundLua string
	//go:embed lease.lua
	LeaseLua string
)
