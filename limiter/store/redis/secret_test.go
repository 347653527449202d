package redis

import (
	"bytes"
	"testing"

	"weir/limiter/store/storetest"
)

// TestSecret: the first to come puts it, all others get it; one that was lost is
// put again by who has it; what is none is refused.
func TestSecret(t *testing.T) {
	server := storetest.StartServer(t)
	ours, theirs := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	a, b := openStore(t, Options{URL: server.URL}), openStore(t, Options{URL: server.URL})
	ask := func(s *Store, offer, want []byte) {
		t.Helper()
		if got, err := s.Secret(t.Context(), offer); err != nil || !bytes.Equal(got, want) {
			t.Errorf("got %x, %v, want %x", got, err, want)
		}
	}
	ask(a, ours, ours)
	ask(b, theirs, ours)
	client := plainClient(t, server)
	if err := client.Del(t.Context(), secretKey).Err(); err != nil {
		t.Fatal(err)
	}
	ask(b, ours, ours)
	ask(a, theirs, ours)
	if err := client.Set(t.Context(), secretKey, "short", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := a.Secret(t.Context(), ours); err == nil {
		t.Errorf("took %x for a secret", got)
	}
	server.Kill()
	if _, err := a.Secret(t.Context(), ours); err == nil {
		t.Error("a secret of a server that is gone")
	}
}
