package redis

import (
	"context"
	"fmt"
)

// secretKey holds what the region's receipts are authenticated with; without
// expiry.
const secretKey = "weir:secret"

// Secret returns the secret that lies beside the region's data. Where there is
// none, as in a server that is new or lost its data, it puts the one offered. So
// nodes that ask from time to time, each offering what it has, agree.
func (s *Store) Secret(ctx context.Context, offer []byte) ([]byte, error) {
	if err := s.Ready(ctx); err != nil {
		return nil, err // the server may be another region's
	}
	pipe := s.control.Load().Pipeline()
	pipe.SetNX(ctx, secretKey, offer, 0)
	kept := pipe.Get(ctx, secretKey)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, s.unavailable(fmt.Errorf("secret of receipts: %w", err))
	}
	secret, err := kept.Bytes()
	if err == nil && len(secret) != len(offer) {
		err = fmt.Errorf("%d bytes under %s: want %d; delete the key", len(secret), secretKey, len(offer))
	}
	if err != nil {
		return nil, fmt.Errorf("redis %s: %w", s.server.Addr, err)
	}
	return secret, nil
}
