package redis

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"weir/crdt"
)

const (
	// splitsKey holds how the rights of quotas are shared out among regions, as
	// far as the region's nodes know; without expiry.
	splitsKey = "weir:split"
	// maxSplitsBytes bounds it: all that may ever be known takes less.
	maxSplitsBytes = 1 << 20
	// mergeTries bounds how often a merge begins anew because another node wrote.
	mergeTries = 8
)

// ErrSplits says that what lies under the key of splits is none. It is left.
var ErrSplits = errors.New("is not how rights are shared out, as nodes write it; put right what is there, or delete the key to have it written anew")

// Splits returns the splits that lie beside the region's data. Where there are
// none, it puts those offered, if there are any: of nodes that offer different
// ones, all get the first's. An error wraps ErrSplits or store.ErrUnavailable.
func (s *Store) Splits(ctx context.Context, offer *crdt.Splits) (crdt.Splits, error) {
	if err := s.Ready(ctx); err != nil {
		return crdt.Splits{}, err // the server may be another region's
	}
	pipe := s.control.Load().Pipeline()
	if offer.Len() > 0 {
		pipe.SetNX(ctx, splitsKey, formatSplits(offer), 0)
	}
	get := pipe.Get(ctx, splitsKey)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) && !isWrongType(err) {
		return crdt.Splits{}, s.unavailable(fmt.Errorf("splits: %w", err))
	}
	return s.keptSplits(get)
}

// MergeSplits has the splits beside the region's data take in what a node knows,
// and returns what lies there then. An error wraps ErrSplits or
// store.ErrUnavailable.
func (s *Store) MergeSplits(ctx context.Context, known *crdt.Splits) (kept crdt.Splits, err error) {
	if err := s.Ready(ctx); err != nil {
		return crdt.Splits{}, err
	}
	for range mergeTries {
		err = s.control.Load().Watch(ctx, func(tx *redis.Tx) error {
			kept, err = s.keptSplits(tx.Get(ctx, splitsKey))
			if err != nil || !kept.Merge(known) {
				return err
			}
			_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Set(ctx, splitsKey, formatSplits(&kept), 0)
				return nil
			})
			return err
		}, splitsKey)
		switch {
		case err == nil:
			return kept, nil
		case errors.Is(err, ErrSplits):
			return crdt.Splits{}, err
		case !errors.Is(err, redis.TxFailedErr):
			return crdt.Splits{}, s.unavailable(fmt.Errorf("splits: %w", err))
		}
	}
	return crdt.Splits{}, s.unavailable(fmt.Errorf("splits: %w", err))
}

// keptSplits reads what lies under the key.
func (s *Store) keptSplits(get *redis.StringCmd) (crdt.Splits, error) {
	text, err := get.Result()
	switch {
	case errors.Is(err, redis.Nil):
		return crdt.Splits{}, nil
	case isWrongType(err):
		return crdt.Splits{}, fmt.Errorf("redis %s: key %s %w", s.server.Addr, splitsKey, ErrSplits)
	case err != nil:
		return crdt.Splits{}, err
	}
	kept, err := parseSplits(text)
	if err != nil {
		return crdt.Splits{}, fmt.Errorf("redis %s: key %s %w: %w", s.server.Addr, splitsKey, ErrSplits, err)
	}
	return kept, nil
}

// formatSplits writes splits in lines, in order, each led by the version: one of
// weights for each rival, one if there were more, one for each acknowledgement.
//
//	1 eu=1 us=2
//	2 eu=1 us=2 za=1
//	2 ack eu 1790000000
func formatSplits(s *crdt.Splits) string {
	var b strings.Builder
	for _, k := range s.All() {
		for _, rival := range k.Rivals {
			fmt.Fprintf(&b, "%d", k.Version)
			for _, w := range rival.Weights {
				fmt.Fprintf(&b, " %s=%d", url.QueryEscape(w.Region), w.Weight)
			}
			b.WriteByte('\n')
		}
		if k.More {
			fmt.Fprintf(&b, "%d more\n", k.Version)
		}
		for _, a := range k.Acks {
			fmt.Fprintf(&b, "%d ack %s %d\n", k.Version, url.QueryEscape(a.Region), a.After)
		}
	}
	return b.String()
}

// parseSplits reads what formatSplits wrote, and nothing else.
func parseSplits(text string) (crdt.Splits, error) {
	if len(text) > maxSplitsBytes {
		return crdt.Splits{}, fmt.Errorf("it has %d bytes, may have %d", len(text), maxSplitsBytes)
	}
	var known []crdt.Known
	number := 0
	for line := range strings.Lines(text) {
		number++
		words := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		version, err := strconv.ParseUint(words[0], 10, 64)
		if err != nil {
			return crdt.Splits{}, fmt.Errorf("line %d: version %.40q: want a number", number, words[0])
		}
		if n := len(known); n == 0 || known[n-1].Version != version {
			known = append(known, crdt.Known{Version: version})
		}
		if err := parseSplitLine(&known[len(known)-1], words[1:]); err != nil {
			return crdt.Splits{}, fmt.Errorf("line %d: %w", number, err)
		}
	}
	s, err := crdt.NewSplits(known)
	if err == nil && (number == 0 || formatSplits(&s) != text) {
		err = errors.New("lines are missing or out of order")
	}
	return s, err
}

// parseSplitLine reads what follows the version.
func parseSplitLine(k *crdt.Known, words []string) error {
	switch {
	case slices.Equal(words, []string{"more"}):
		k.More = true
		return nil
	case len(words) == 3 && words[0] == "ack":
		region, err := url.QueryUnescape(words[1])
		if err != nil {
			return err
		}
		after, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil {
			return err
		}
		k.Acks = append(k.Acks, crdt.Ack{Region: region, After: after})
		return nil
	}
	split := crdt.Split{Version: k.Version}
	for _, word := range words {
		name, number, _ := strings.Cut(word, "=")
		region, err := url.QueryUnescape(name)
		if err != nil {
			return err
		}
		weight, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			return fmt.Errorf("%.80q: want REGION=WEIGHT", word)
		}
		split.Weights = append(split.Weights, crdt.Weight{Region: region, Weight: uint32(weight)})
	}
	k.Rivals = append(k.Rivals, split)
	return nil
}
