package gossip

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

const (
	maxKeyringBytes = 64 << 10
	maxKeyringKeys  = 100
)

// ErrKeyring is wrapped by every error that says a keyring file breaks the
// rules. No such error shows a key.
var ErrKeyring = errors.New("keyring")

// ReadKeyring reads the gossip keys from a file: see ParseKeyring.
func ReadKeyring(path string) ([][]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeyring, err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	return ParseKeyring(path, f)
}

// ParseKeyring reads one base64 key a line, of 16, 24 or 32 bytes. The first is
// primary: it encrypts, all decrypt. Empty lines and what follows a # count
// nothing. name stands for the file in errors.
func ParseKeyring(name string, r io.Reader) ([][]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxKeyringBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrKeyring, name, err)
	}
	if len(text) > maxKeyringBytes {
		return nil, fmt.Errorf("%w: %s: is over %d bytes long", ErrKeyring, name, maxKeyringBytes)
	}
	var keys [][]byte
	for i, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		key, err := parseKey(line, keys)
		if err != nil {
			return nil, fmt.Errorf("%w: %s:%d: %w", ErrKeyring, name, i+1, err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: %s: has no key; write one base64 key of 16, 24 or 32 bytes a line", ErrKeyring, name)
	}
	return keys, nil
}

func parseKey(line string, earlier [][]byte) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(line)
	if err != nil {
		// The decoder's error tells where, which is of no use and hints at what.
		return nil, errors.New("not base64; write 16, 24 or 32 bytes as in `openssl rand -base64 32`")
	}
	switch len(key) {
	case 16, 24, 32:
	default:
		return nil, fmt.Errorf("key has %d bytes, must have 16, 24 or 32", len(key))
	}
	for i, other := range earlier {
		if bytes.Equal(key, other) {
			return nil, fmt.Errorf("repeats key %d; each key stands once", i+1)
		}
	}
	if len(earlier) == maxKeyringKeys {
		return nil, fmt.Errorf("more than %d keys", maxKeyringKeys)
	}
	return key, nil
}
