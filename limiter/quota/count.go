package quota

import "weir/crdt"

// Count is what one replica counted, in units; its numbers only grow, Unmet
// apart, and with each change its version. See crdt.Entry.
type Count struct {
	Version         uint64
	Taken, Returned int64
	Granted, Unmet  int64
	Gifts           crdt.Gifts
}

// Merge is the join of what one replica counted, from two sources: the higher
// version wins. Two counts of one version are the same, unless a writer broke
// the law.
func (c Count) Merge(d Count) Count {
	if d.Version > c.Version {
		return d
	}
	return c
}

// Net is Taken − Returned.
func (c Count) Net() int64 { return c.Taken - c.Returned }

// Take is the count once cost units more are taken, by a region that had rights
// for that many before. Cost 0 changes nothing.
func (c Count) Take(cost, rights int64) Count {
	if cost == 0 {
		return c
	}
	c.Version++
	c.Taken += cost
	if rights >= c.Unmet {
		c.Unmet = 0
	}
	return c
}

// Refuse is the count once cost units were refused for want of rights. It
// changes when the cost is the largest so, or when the caller wants others to
// hear that the want goes on.
func (c Count) Refuse(cost int64, again bool) Count {
	if cost > c.Unmet || again {
		c.Version++
		c.Unmet = max(c.Unmet, cost)
	}
	return c
}

// Return is the count once units were given back.
func (c Count) Return(units int64) Count {
	if units > 0 {
		c.Version++
		c.Returned += units
	}
	return c
}

// Grant is the count once operators granted units.
func (c Count) Grant(units int64) Count {
	if units > 0 {
		c.Version++
		c.Granted += units
	}
	return c
}

// Give is the count once units more were given to a region.
func (c Count) Give(region string, units int64) Count {
	if units > 0 {
		c.Version++
		c.Gifts = c.Gifts.With(region, c.Gifts.To(region)+units)
	}
	return c
}
