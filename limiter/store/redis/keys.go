package redis

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"

	"weir/limiter/store"
)

// groups is how many hashes the buckets of one tag lie in. It is part of the
// layout and never changes.
const groups = 128

// groupKeys are the names of the buckets' hashes, made when first used: 4 MB
// when all are.
var groupKeys [store.Tags * groups]atomic.Pointer[string]

// groupKey names the hash that a bucket lies in.
func groupKey(tag uint16, id *store.ID) *string {
	group := id[0] % groups
	at := &groupKeys[int(tag)*groups+int(group)]
	if key := at.Load(); key != nil {
		return key
	}
	key := fmt.Sprintf("weir:{%03x}b%02x", tag, group)
	at.Store(&key)
	return &key
}

// rowPattern matches the keys of all quota rows.
const rowPattern = "weir:{???}q*"

// rowKey names a row's hash: its entries.
func rowKey(tag uint16, id *store.ID) string { return idKey(tag, 'q', id) }

func idKey(tag uint16, kind byte, id *store.ID) string {
	b := make([]byte, 0, 48)
	b = appendTag(b, tag)
	b = append(b, kind)
	return string(hex.AppendEncode(b, id[:]))
}

func appendTag(b []byte, tag uint16) []byte {
	b = append(b, "weir:{"...)
	return append(b, hexDigits[tag>>8&15], hexDigits[tag>>4&15], hexDigits[tag&15], '}')
}

// callsKey names the hash of the calls of one tag in one slot of time.
func callsKey(tag uint16, slot int64) string {
	return string(strconv.AppendInt(append(appendTag(make([]byte, 0, 32), tag), 'c'), slot, 10))
}

const hexDigits = "0123456789abcdef"

// markerKeys are the names of the reigns' markers, by tag.
var markerKeys = func() (keys [store.Tags]string) {
	for tag := range keys {
		keys[tag] = fmt.Sprintf("weir:{%03x}reign", tag)
	}
	return keys
}()

// nameField is the field of a row that holds its name.
const nameField = "n"

// appendName writes a row's name: start, end, generation, length of the rule's
// name, then rule and key as they are.
func appendName(b []byte, n *store.RowName) []byte {
	for _, number := range []int64{n.Start, n.End, int64(n.Generation), int64(len(n.Rule))} {
		b = strconv.AppendInt(b, number, 10)
		b = append(b, ' ')
	}
	b = append(b, n.Rule...)
	return append(b, n.Key...)
}

// parseName reads what appendName wrote.
func parseName(s string) (store.RowName, error) {
	var n store.RowName
	parts := strings.SplitN(s, " ", 5)
	if len(parts) != 5 {
		return n, fmt.Errorf("row name %.80q: want start, end, generation, length and name", s)
	}
	var numbers [4]int64
	for i := range numbers {
		var err error
		if numbers[i], err = strconv.ParseInt(parts[i], 10, 64); err != nil {
			return n, fmt.Errorf("row name %.80q: %w", s, err)
		}
	}
	generation, rule, name := numbers[2], numbers[3], parts[4]
	if generation < 0 || generation > math.MaxUint32 {
		return n, fmt.Errorf("row name %.80q: generation %d: want 0 to 2^32 - 1", s, generation)
	}
	if rule < 0 || rule > int64(len(name)) {
		return n, fmt.Errorf("row name %.80q: the rule's length %d: want 0 to %d", s, rule, len(name))
	}
	return store.RowName{Start: numbers[0], End: numbers[1], Generation: uint32(generation), Rule: name[:rule], Key: name[rule:]}, nil
}

// reignDigits is how many hex digits a reign is written in.
const reignDigits = 16

func formatReign(r store.Reign) string { return fmt.Sprintf("%016x", uint64(r)) }

func parseReign(s string) (store.Reign, error) {
	if len(s) != reignDigits {
		return 0, fmt.Errorf("reign %.80q: want %d hex digits", s, reignDigits)
	}
	n, err := strconv.ParseUint(s, 16, 64)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("reign %.80q: want %d hex digits, not all 0", s, reignDigits)
	}
	return store.Reign(n), nil
}
