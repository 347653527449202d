package redis

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"weir/limiter/store"
)

// reign is one tag's reign, and the marker that names it.
type reign struct {
	nonce  store.Reign
	marker string
}

// reigns are those in force as last heard, by tag; none before the first open.
type reigns [store.Tags]atomic.Pointer[reign]

var noReign = &reign{marker: "none"}

// at returns the reign in force under a tag.
func (r *reigns) at(tag uint16) *reign {
	if in := r[tag].Load(); in != nil {
		return in
	}
	return noReign
}

// set takes in a reign in force and says whether it is new.
func (r *reigns) set(tag int, marker string) (bool, error) {
	hex, _, _ := strings.Cut(marker, " ")
	nonce, err := parseReign(hex)
	if err != nil {
		return false, err
	}
	before := r[tag].Load()
	if before != nil && before.marker == marker {
		return false, nil
	}
	r[tag].Store(&reign{nonce, marker})
	return before == nil || before.nonce != nonce, nil
}

// newNonce draws a reign that was never named before.
func newNonce() store.Reign {
	var b [8]byte
	for {
		_, _ = rand.Read(b[:]) // never fails, says its documentation
		if n := store.Reign(binary.BigEndian.Uint64(b[:])); n != 0 {
			return n
		}
	}
}

// serverRun asks which run of the server is at the other end.
func serverRun(ctx context.Context, c redis.Cmdable) (string, error) {
	info, err := c.Info(ctx, "server").Result()
	if err != nil {
		return "", err
	}
	run := infoField(info, "run_id")
	if run == "" {
		return "", errors.New("INFO names no run_id")
	}
	return run, nil
}

// infoField reads one line of an INFO reply.
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// openTags opens the reign of every tag in one pipeline, and returns the ones
// in force. All new ones share a nonce; where several nodes open at once, each
// tag's is that of whoever came first.
//
// A reign begins on what the data holds and on what calls bring as Earlier.
// What the region's live nodes must exchange before that belongs here, between
// a claim and the nonce that replaces it.
func openTags(ctx context.Context, c redis.Cmdable, run string, split uint64) ([]string, error) {
	nonce := formatReign(newNonce())
	pipe := c.Pipeline()
	pipe.ScriptLoad(ctx, openScript.text)
	pipe.ScriptLoad(ctx, changeScript.text)
	pipe.ScriptLoad(ctx, settleScript.text)
	pipe.ScriptLoad(ctx, decideScript.text) // else each call in flight would bring it
	cmds := make([]*redis.Cmd, store.Tags)
	for tag := range cmds {
		cmds[tag] = pipe.EvalSha(ctx, openScript.sha, markerKeys[tag:tag+1], nonce, run, split)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("open the reign: %w", err)
	}
	inForce := make([]string, len(cmds))
	for tag, cmd := range cmds {
		var err error
		if inForce[tag], err = cmd.Text(); err != nil {
			return nil, fmt.Errorf("open the reign of tag %d: %w", tag, err)
		}
	}
	return inForce, nil
}
