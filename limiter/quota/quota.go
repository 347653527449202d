package quota

// MaxUnits is the largest number of units anything here may be: up to 2^53 a
// Lua number (a double) is an exact integer.
const MaxUnits = 1 << 53

// Bounds are what a call knows of the world beyond its region's store. What it
// does not know yet can only make them too low, never too high.
type Bounds struct {
	// Ceiling is the most units the region's replicas may have taken, net: the
	// quota less what other regions took.
	Ceiling int64
	// Allotted is what the region was ever allotted of the quota's rights: its
	// share and what it received. Unbounded asks for no rights.
	Allotted int64
}

// Unbounded is the Allotted of a quota whose overshoot is not bounded.
const Unbounded int64 = MaxUnits

// Ceiling is the most units this region's replicas may have taken, net, under
// a limit of which others took elsewhere units. It lies in [−2^53, 2^53).
func Ceiling(limit, elsewhere int64) int64 {
	limit, elsewhere = clamp(limit), clamp(elsewhere)
	return min(clamp(limit-elsewhere), MaxUnits-1)
}

// Sums are what a region's replicas of one row did together, in units.
type Sums struct {
	// Net is ΣP − ΣN; Given, what they gave to other regions; Granted, what
	// operators granted them.
	Net, Given, Granted int64
}

// Rights is how many units the region may still let through by itself.
func (s Sums) Rights(b Bounds) int64 {
	if b.Allotted >= Unbounded {
		return MaxUnits
	}
	return clamp(clamp(b.Allotted+s.Granted) - s.Given - s.Net)
}

// Outcome is what a row says to a cost.
type Outcome uint8

const (
	// Fits: there is room, and the region has the rights.
	Fits Outcome = 1
	// Exhausted: of the quota, as far as is known, too little is left.
	Exhausted Outcome = 2
	// NoRights: enough is left, but this region may not let it through by
	// itself.
	NoRights Outcome = 3
)

// Try says whether cost more units may be taken. Cost 0 always may, a negative
// one never.
func (s Sums) Try(b Bounds, cost int64) Outcome {
	switch {
	case cost == 0:
		return Fits
	case cost < 0 || clamp(s.Net)+min(cost, MaxUnits) > b.Ceiling:
		return Exhausted
	case cost > s.Rights(b):
		return NoRights
	}
	return Fits
}

// Left is how many units the region may let through now, within both bounds.
func (s Sums) Left(b Bounds) int64 {
	return max(0, min(b.Ceiling-clamp(s.Net), s.Rights(b)))
}

func clamp(units int64) int64 { return max(-MaxUnits, min(units, MaxUnits)) }
