package redis

import "strconv"

// neverEvict is the policy under which a full server refuses writes.
const neverEvict = "noeviction"

// judgeMemory reads INFO memory and warns when the server may evict: every key
// here expires, so the volatile policies are no better than the others.
func (s *Store) judgeMemory(info string) {
	most, err := strconv.ParseInt(infoField(info, "maxmemory"), 10, 64)
	if err != nil {
		most = 0 // not told: nothing to judge by
	}
	policy := infoField(info, "maxmemory_policy")
	evicts := most > 0 && policy != "" && policy != neverEvict

	s.mu.Lock()
	before := s.health
	s.health.MaxMemory, s.health.Policy, s.health.Evicts = most, policy, evicts
	s.mu.Unlock()
	switch {
	case evicts && (!before.Evicts || before.Policy != policy):
		s.log.Warn("redis evicts when its memory is full, which resets limits silently: set maxmemory-policy to noeviction",
			"maxmemory", most, "maxmemory_policy", policy)
	case !evicts && before.Evicts:
		s.log.Info("redis no longer evicts", "maxmemory", most, "maxmemory_policy", policy)
	}
}
