package quota

// MaxUnits is the largest number of units anything here may be: up to 2^53 a
// Lua number (a double) is an exact integer.
const MaxUnits = 1 << 53

// Ceiling is the most units this region's replicas may have taken, net, under
// a limit of which others took elsewhere units. It lies in [−2^53, 2^53).
func Ceiling(limit, elsewhere int64) int64 {
	limit, elsewhere = clamp(limit), clamp(elsewhere)
	return min(clamp(limit-elsewhere), MaxUnits-1)
}

// Fits says whether cost more units fit below a ceiling when the region's
// replicas have taken net units. Cost 0 always fits, a negative one never.
func Fits(ceiling, net, cost int64) bool {
	if cost <= 0 {
		return cost == 0
	}
	return clamp(net)+min(cost, MaxUnits) <= ceiling
}

func clamp(units int64) int64 { return max(-MaxUnits, min(units, MaxUnits)) }

// Merge is the join of what one replica counted, from two sources: the higher
// version wins; of equal ones, which differ only where a writer broke the law,
// the larger of each number.
func (c Count) Merge(d Count) Count {
	switch {
	case d.Version > c.Version:
		return d
	case d.Version == c.Version:
		c.Taken, c.Returned = max(c.Taken, d.Taken), max(c.Returned, d.Returned)
	}
	return c
}

// Count is what one replica counted, in units; its numbers only grow, and with
// each change its version.
type Count struct {
	Version         uint64
	Taken, Returned int64
}

// Net is Taken − Returned.
func (c Count) Net() int64 { return c.Taken - c.Returned }

// Take returns the count once cost units more are taken. Cost 0 changes
// nothing.
func (c Count) Take(cost int64) Count {
	if cost == 0 {
		return c
	}
	return Count{Version: c.Version + 1, Taken: c.Taken + cost, Returned: c.Returned}
}
