package redis

import (
	"crypto/sha1" //nolint:gosec // the name Redis gives a script
	_ "embed"
	"encoding/hex"

	"weir/limiter/bucket"
	"weir/limiter/quota"
)

// script is a script's text and the name that Redis knows it by.
type script struct{ text, sha string }

func newScript(parts ...string) *script {
	s := new(script)
	for _, p := range parts {
		s.text += p + "\n"
	}
	sum := sha1.Sum([]byte(s.text)) //nolint:gosec // the name Redis gives a script
	s.sha = hex.EncodeToString(sum[:])
	return s
}

var (
	//go:embed decide.lua
	decideLua string
	//go:embed change.lua
	changeLua string
	//go:embed settle.lua
	settleLua string
	//go:embed claim.lua
	claimLua string
	//go:embed open.lua
	openLua string

	decideScript = newScript(bucket.TokenBucketLua, quota.RowLua, decideLua)
	changeScript = newScript(quota.RowLua, quota.GiveLua, quota.RefundLua, quota.LeaseLua, changeLua)
	settleScript = newScript(quota.RowLua, quota.RefundLua, settleLua)
	claimScript  = newScript(claimLua)
	openScript   = newScript(openLua)
)
