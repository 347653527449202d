package redis

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"weir/limiter/store"
)

// scanCount is how many keys one step of a scan looks at: the most rows a page
// has, give or take a few.
const scanCount = 512

// Rows implements store.Store. It looks at every key, a page at a time; a row
// that moves meanwhile may come twice.
func (s *Store) Rows(ctx context.Context, yield func([]store.Row) error) error {
	if err := s.Ready(ctx); err != nil {
		return err // without a reign, nobody knows whose rows these are
	}
	control := s.control.Load()
	bad := 0
	for cursor := uint64(0); ; {
		keys, next, err := control.Scan(ctx, cursor, rowPattern, scanCount).Result()
		if err != nil {
			return s.unavailable(fmt.Errorf("scan: %w", err))
		}
		rows, skipped, err := readRows(ctx, control, keys)
		if err != nil {
			return s.unavailable(fmt.Errorf("read rows: %w", err))
		}
		bad += skipped
		if len(rows) > 0 {
			if err := yield(rows); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	if bad > 0 {
		s.log.Warn("redis holds quota rows that cannot be read; they were left out", "rows", bad)
	}
	return nil
}

// readRows reads the rows of a page in one pipeline. Rows that are gone by now
// are left out; those that cannot be read are counted.
func readRows(ctx context.Context, c redis.Cmdable, keys []string) (rows []store.Row, bad int, err error) {
	if len(keys) == 0 {
		return nil, 0, nil
	}
	pipe := c.Pipeline()
	cmds := make([]*redis.MapStringStringCmd, len(keys))
	for i, key := range keys {
		cmds[i] = pipe.HGetAll(ctx, key)
	}
	if _, err := pipe.Exec(ctx); err != nil && !isWrongType(err) {
		return nil, 0, err
	}
	for _, cmd := range cmds {
		fields, err := cmd.Result()
		if isWrongType(err) {
			bad++
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		if len(fields) == 0 {
			continue
		}
		row, err := parseRow(fields)
		if err != nil {
			bad++
			continue
		}
		rows = append(rows, row)
	}
	return rows, bad, nil
}

// isWrongType says that somebody else's key lies where a row would.
func isWrongType(err error) bool { return redis.HasErrorPrefix(err, "WRONGTYPE") }

// parseRow reads a row's fields.
func parseRow(fields map[string]string) (store.Row, error) {
	name, err := parseName(fields[nameField])
	if err != nil {
		return store.Row{}, err
	}
	row := store.Row{Name: name, Entries: make([]store.Entry, 0, len(fields)-1)}
	for field, value := range fields {
		if field == nameField {
			continue
		}
		e, err := parseEntry(field, value)
		if err != nil {
			return store.Row{}, err
		}
		row.Entries = append(row.Entries, e)
	}
	return row, nil
}
