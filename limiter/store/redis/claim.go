package redis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"weir/limiter/store"
)

const (
	// claimPatience is how long another opener's claim is waited for before it is
	// taken for left behind, and claimJitter what is added at random, so that
	// openers do not replace each other's for ever. An exchange takes up to a
	// second.
	claimPatience = 1200 * time.Millisecond
	claimJitter   = 400 * time.Millisecond
	// claimPoll is how often a claim is looked at meanwhile.
	claimPoll = 50 * time.Millisecond
)

// opener opens the reigns of the data in one run of the server, for all tags.
type opener struct {
	conn     redis.Cmdable
	run      string
	split    uint64
	claim    string // unique
	left     string // the claim of an earlier attempt, to be replaced at once
	opened   string // the marker of the reign that begins
	patience time.Duration

	inForce []string             // markers by tag, empty while pending
	others  []string             // claims of other openers, by tag
	seen    map[string]time.Time // when each of those was first seen
}

// openTags has a reign opened under every tag, in pipelines, and returns the
// markers in force. What is new to this node, it uses only after an exchange
// with the region's nodes that began when nobody could decide in an earlier
// reign any more: under the claim, or with the new reign there.
func (s *Store) openTags(ctx context.Context, conn redis.Cmdable, run string) ([]string, error) {
	o := &opener{
		conn: conn, run: run, split: s.opts.Split, left: s.claimed,
		claim:    claimPrefix + formatReign(newNonce()) + " " + run,
		opened:   formatMarker(newNonce(), run, s.opts.Split),
		patience: claimPatience + rand.N(claimJitter),
		inForce:  make([]string, store.Tags), others: make([]string, store.Tags), seen: make(map[string]time.Time),
	}
	if err := o.load(ctx); err != nil {
		return nil, err
	}
	s.claimed = o.claim
	for {
		claimed, found, err := o.claimTags(ctx)
		if err != nil {
			return nil, err
		}
		if len(claimed) > 0 || s.areNew(o.inForce, found) {
			if err := s.exchange(ctx, o.used(claimed)); err != nil {
				return nil, err
			}
		}
		if err := o.open(ctx, claimed); err != nil {
			return nil, err
		}
		if len(o.pending()) == 0 {
			return o.inForce, nil
		}
		if err := pause(ctx, jitter(claimPoll)); err != nil {
			return nil, fmt.Errorf("wait for another node to open the reign: %w", err)
		}
	}
}

// exchange lets the region's nodes tell this one what they know.
func (s *Store) exchange(ctx context.Context, reign store.Reign) error {
	if s.opts.Exchange == nil {
		return nil
	}
	if err := s.opts.Exchange(ctx, reign); err != nil {
		return fmt.Errorf("%w: exchange with the region's nodes: %w", errNotYetUsed, err)
	}
	s.exchanges.Add(1)
	return nil
}

// used is the reign that is to be used, if it is in force already and the only
// one.
func (o *opener) used(claimed []int) (one store.Reign) {
	if len(claimed) > 0 {
		return 0
	}
	for _, marker := range o.inForce {
		if marker == "" {
			continue
		}
		in, _, err := parseMarker(marker)
		if err != nil || (one != 0 && in != one) {
			return 0
		}
		one = in
	}
	return one
}

// areNew says whether this node has not used a reign in force under one of the
// tags.
func (s *Store) areNew(inForce []string, tags []int) bool {
	for _, tag := range tags {
		nonce, _, err := parseMarker(inForce[tag])
		if err != nil || s.reigns.at(uint16(tag)).nonce != nonce {
			return true
		}
	}
	return false
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// load brings the scripts, those of calls too: else each call in flight would
// bring its own.
func (o *opener) load(ctx context.Context) error {
	pipe := o.conn.Pipeline()
	for _, script := range []*script{claimScript, openScript, decideScript, changeScript, settleScript} {
		pipe.ScriptLoad(ctx, script.text)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("load the scripts: %w", err)
	}
	return nil
}

// pending are the tags under which no reign is known to be in force.
func (o *opener) pending() (tags []int) {
	for tag, marker := range o.inForce {
		if marker == "" {
			tags = append(tags, tag)
		}
	}
	return tags
}

// claimTags claims what can be, and returns the tags that are claimed now and
// those under which a reign was found.
func (o *opener) claimTags(ctx context.Context) (claimed, found []int, err error) {
	tags := o.pending()
	markers, err := o.each(ctx, tags, claimScript, func(tag int) []any {
		return []any{o.claim, o.run, o.split, o.overdue(o.others[tag])}
	})
	if err != nil {
		return nil, nil, fmt.Errorf("claim the data: %w", err)
	}
	for i, tag := range tags {
		switch marker := markers[i]; {
		case marker == o.claim:
			claimed = append(claimed, tag)
		case strings.HasPrefix(marker, claimPrefix):
			o.await(tag, marker)
		default:
			if err := o.find(tag, marker); err != nil {
				return nil, nil, err
			}
			found = append(found, tag)
		}
	}
	return claimed, found, nil
}

// open replaces the opener's claims by the new reign. Where somebody else
// replaced a claim, the tag stays pending.
func (o *opener) open(ctx context.Context, claimed []int) error {
	markers, err := o.each(ctx, claimed, openScript, func(int) []any { return []any{o.claim, o.opened} })
	if err != nil {
		return fmt.Errorf("open the reign: %w", err)
	}
	for i, tag := range claimed {
		if markers[i] == o.opened {
			o.inForce[tag] = o.opened
		}
	}
	return nil
}

// each runs a script for each tag's marker, in one pipeline.
func (o *opener) each(ctx context.Context, tags []int, script *script, args func(tag int) []any) ([]string, error) {
	if len(tags) == 0 {
		return nil, nil
	}
	pipe := o.conn.Pipeline()
	cmds := make([]*redis.Cmd, len(tags))
	for i, tag := range tags {
		cmds[i] = pipe.EvalSha(ctx, script.sha, markerKeys[tag:tag+1], args(tag)...)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	markers := make([]string, len(tags))
	for i, cmd := range cmds {
		var err error
		if markers[i], err = cmd.Text(); err != nil {
			return nil, fmt.Errorf("tag %d: %w", tags[i], err)
		}
	}
	return markers, nil
}

// find notes a reign in force, if it is of the opener's split.
func (o *opener) find(tag int, marker string) error {
	_, split, err := parseMarker(marker)
	if err != nil {
		return err
	}
	if split != o.split {
		return fmt.Errorf("%w: %w: %d; this node is at %d: update its regions", errNotYetUsed, errWrongSplit, split, o.split)
	}
	o.inForce[tag] = marker
	return nil
}

// await notes another opener's claim.
func (o *opener) await(tag int, claim string) {
	o.others[tag] = claim
	if _, known := o.seen[claim]; !known {
		o.seen[claim] = time.Now()
	}
}

// overdue returns the claim that may be replaced: the one seen, if it was waited
// for long enough, or what an earlier attempt of this node left.
func (o *opener) overdue(claim string) string {
	if since, known := o.seen[claim]; known && time.Since(since) > o.patience {
		return claim
	}
	return o.left
}
