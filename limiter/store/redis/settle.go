package redis

import "weir/limiter/store"

// Cancel implements store.Store.
func (s *Store) Cancel(*store.Call) {}
