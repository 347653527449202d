package redis

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
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
	nonce, _, err := parseMarker(marker)
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

// claimPrefix begins a marker that is no reign's.
const claimPrefix = "claim:"

func formatMarker(in store.Reign, run string, split uint64) string {
	return formatReign(in) + " " + run + " " + strconv.FormatUint(split, 10)
}

// parseMarker reads the marker of a reign.
func parseMarker(marker string) (in store.Reign, split uint64, err error) {
	parts := strings.Split(marker, " ")
	if len(parts) != 3 {
		return 0, 0, fmt.Errorf("marker %.80q: want reign, run and split", marker)
	}
	if in, err = parseReign(parts[0]); err != nil {
		return 0, 0, fmt.Errorf("marker %.80q: %w", marker, err)
	}
	if split, err = strconv.ParseUint(parts[2], 10, 64); err != nil {
		return 0, 0, fmt.Errorf("marker %.80q: split: %w", marker, err)
	}
	return in, split, nil
}
