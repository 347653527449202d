package gossip

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func b64(n int, fill byte) string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(fill), n)))
}

func TestReadKeyring(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	text := "# rotated in May\n\n" + b64(32, 'a') + "\r\n  " + b64(16, 'b') + "  # old\n" + b64(24, 'c')
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := ReadKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(keys) != 3 || keys[0][0] != 'a' || len(keys[0]) != 32 || len(keys[1]) != 16 || len(keys[2]) != 24 {
		t.Fatalf("keys %q", keys)
	}
	if _, err := ReadKeyring(path + ".missing"); !errors.Is(err, ErrKeyring) || !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("missing file: %v", err)
	}
}

func TestKeyringErrorsNameTheLineAndNoKey(t *testing.T) {
	secret := b64(17, 's')
	for _, tc := range []struct{ what, text, want string }{
		{"empty", "\n# nothing\n", "has no key"},
		{"length", b64(32, 'a') + "\n" + secret, "f:2: key has 17 bytes, must have 16, 24 or 32"},
		{"not base64", "\n" + secret + "!", "f:2: not base64"},
		{"repeated", b64(32, 'a') + "\n" + b64(32, 'a'), "f:2: repeats key 1"},
		{"too long", strings.Repeat("#\n", maxKeyringBytes), "is over"},
	} {
		_, err := ParseKeyring("f", strings.NewReader(tc.text))
		if !errors.Is(err, ErrKeyring) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.what, err, tc.want)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error shows the key", tc.what)
		}
	}
}

func TestParseJoin(t *testing.T) {
	for addr, want := range map[string]joinAddr{
		"eu-1:7422":             {host: "eu-1", port: "7422"},
		"[::1]:7422":            {host: "::1", port: "7422"},
		"dns+srv://_g._tcp.x.y": {srv: "_g._tcp.x.y"},
	} {
		if got, err := parseJoin(addr); err != nil || got != want {
			t.Errorf("%s: %+v, %v", addr, got, err)
		}
	}
}
