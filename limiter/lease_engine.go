package limiter

import (
	"errors"

	"weir/limiter/store"
)

// UseLeases has the engine decide checks from leases where it can. It is called
// before the first check; the caller runs and stops the leases.
func (e *Engine) UseLeases(l *Leases) { e.leases = l }

// spend decides what is not decided from leases, where they cover it.
func (e *Engine) spend(plans []*plan) {
	if e.leases == nil {
		return
	}
	for _, p := range plans {
		if !p.asked() || p.decided() {
			continue
		}
		if errors.Is(p.call.Err, store.ErrUnavailable) {
			e.leases.missed()
		}
		if e.leases.spend(&p.call, p.began) {
			p.leased = true
			p.call.NowUs = p.now.UnixMicro()
			e.name(&p.call) // a charge of its own, whatever became of one before
		}
	}
}
