package redis

import (
	"context"
	"errors"

	"weir/limiter/store"
)

// Apply implements store.Store.
func (s *Store) Apply(_ context.Context, changes []*store.Change) {
	for _, c := range changes {
		c.Fail(s.unavailable(errors.ErrUnsupported))
	}
}

// Cancel implements store.Store.
func (s *Store) Cancel(*store.Call) {}
