package quotas

import "weir/limiter/quota"

// side is one region as it would go on alone.
type side struct {
	// rights are what it may let through by itself: quota.MaxUnits where regions
	// keep none. left is what of the quota it believes is left. Both in units.
	rights, left int64
}

// exposure is by how many units a quota will be passed at worst, if from now on
// no region hears of another and each lets through all that it may.
//
// Alone, region i lets through min(rights_i, left_i) more, where both are above
// 0: law (a) holds it to what it believes is left, law (b) to its rights. With
// what all have taken so far, value, that is
//
//	max(0, value + Σ min(rights_i, left_i) − limit)
//
// Where all have heard the same, left_i is limit − value = left, and the formula
// is max(0, Σ min(rights_i, left) − left); without rights, (regions − 1)·left.
// A region that is cut off may have heard nothing of the others: it is taken to
// believe in all that it has not taken itself.
//
// Rights that were given and not heard of yet are counted twice, with who gave
// them and with who spent them. But all regions together never let through more
// than limit + allowance, which is what overshoot and operators allow: no more
// is reported, unless more has been taken already.
func exposure(limit, value, allowance int64, sides []side) int64 {
	over := add(value, -limit)
	for _, s := range sides {
		over = add(over, max(0, min(s.rights, s.left)))
	}
	return max(0, value-limit, min(over, allowance))
}

// unbounded is the allowance where nothing bounds the overshoot.
const unbounded = 1<<63 - 1

// add adds without passing what rows can hold: sums of forged entries must not
// wrap round.
func add(a, b int64) int64 {
	const most = 1 << 62
	return max(-most, min(most, max(-most, min(most, a))+max(-most, min(most, b))))
}

// sideOf is what a region would go on with: cut off or having heard all of what
// is known here.
func sideOf(limit, value, net, rights int64, bounded, cutOff bool) side {
	s := side{rights: rights, left: add(limit, -value)}
	if !bounded {
		s.rights = quota.MaxUnits
	}
	if cutOff {
		s.left = add(limit, -net)
	}
	return s
}
