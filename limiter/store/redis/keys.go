package redis

import (
	"encoding/hex"
	"fmt"
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

func rowKey(tag uint16, id *store.ID) string {
	b := make([]byte, 0, 48)
	b = append(b, "weir:{"...)
	b = append(b, hexDigits[tag>>8&15], hexDigits[tag>>4&15], hexDigits[tag&15])
	b = append(b, "}q"...)
	return string(hex.AppendEncode(b, id[:]))
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

// appendName writes a row's name: start, end, length of the rule's name, then
// rule and key as they are.
func appendName(b []byte, n *store.RowName) []byte {
	b = strconv.AppendInt(b, n.Start, 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, n.End, 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(len(n.Rule)), 10)
	b = append(b, ' ')
	b = append(b, n.Rule...)
	return append(b, n.Key...)
}

// parseName reads what appendName wrote.
func parseName(s string) (store.RowName, error) {
	var n store.RowName
	parts := strings.SplitN(s, " ", 4)
	if len(parts) != 4 {
		return n, fmt.Errorf("row name %.80q: want start, end, length and name", s)
	}
	var numbers [3]int64
	for i := range numbers {
		var err error
		if numbers[i], err = strconv.ParseInt(parts[i], 10, 64); err != nil {
			return n, fmt.Errorf("row name %.80q: %w", s, err)
		}
	}
	rule := numbers[2]
	if rule < 0 || rule > int64(len(parts[3])) {
		return n, fmt.Errorf("row name %.80q: the rule's length %d: want 0 to %d", s, rule, len(parts[3]))
	}
	return store.RowName{Start: numbers[0], End: numbers[1], Rule: parts[3][:rule], Key: parts[3][rule:]}, nil
}

// parseEntry reads an entry as the script writes it.
func parseEntry(field, value string) (store.Entry, error) {
	reign, err := parseReign(field)
	if err != nil {
		return store.Entry{}, err
	}
	parts := strings.Split(value, " ")
	if len(parts) != 3 {
		return store.Entry{}, fmt.Errorf("entry %.80q: want version, taken and returned", value)
	}
	version, err := strconv.ParseUint(parts[0], 10, 53+1)
	if err != nil {
		return store.Entry{}, fmt.Errorf("entry %.80q: version: %w", value, err)
	}
	taken, err := strconv.ParseUint(parts[1], 10, 53+1)
	if err != nil {
		return store.Entry{}, fmt.Errorf("entry %.80q: taken: %w", value, err)
	}
	returned, err := strconv.ParseUint(parts[2], 10, 53+1)
	if err != nil {
		return store.Entry{}, fmt.Errorf("entry %.80q: returned: %w", value, err)
	}
	return store.Entry{Reign: reign, Version: version, Taken: int64(taken), Returned: int64(returned)}, nil
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
