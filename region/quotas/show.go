package quotas

import (
	"slices"

	"weir/crdt"
	"weir/limiter"
	"weir/limiter/rule"
	weirv1 "weir/proto/weir/v1"
)

// show writes a row as the API speaks of it; of is nil where the rules no longer
// name a quota for it.
func (r *Reader) show(row *crdt.Row, of *rule.Quota) *weirv1.Quota {
	name, used := row.Name(), row.Value()
	out := &weirv1.Quota{
		Rule: name.Rule, Key: name.Key, Generation: name.Generation, Used: used,
		PeriodStartUnixSeconds: name.Start, PeriodEndUnixSeconds: name.End,
		ByRegion: make([]*weirv1.RegionUse, len(r.regions)),
	}
	for i, region := range r.regions {
		taken, returned := row.Region(region)
		out.ByRegion[i] = &weirv1.RegionUse{Region: region, Taken: taken, GivenBack: returned}
	}
	if of == nil {
		return out
	}
	out.Limit, out.Remaining, out.TimeZone = of.Limit, max(0, of.Limit-used), of.Calendar.Zone().String()
	out.OvershootUnbounded = of.Overshoot.Unbounded
	allowance := int64(unbounded)
	if !out.OvershootUnbounded {
		total := limiter.Rights(of)
		out.Overshoot = total - of.Limit
		allowance = add(out.Overshoot, r.showRights(row, total, out.ByRegion))
	}
	out.Exposure = r.exposure(out, allowance)
	return out
}

// showRights writes what each region holds of total rights, and returns what
// operators granted in all.
func (r *Reader) showRights(row *crdt.Row, total int64, uses []*weirv1.RegionUse) (granted int64) {
	for _, e := range row.Entries() {
		granted = add(granted, e.Granted)
		if i := slices.Index(r.regions, e.Replica.Region); i >= 0 {
			uses[i].Granted = add(uses[i].Granted, e.Granted)
		}
	}
	others := r.transferring(row)
	for _, use := range uses {
		use.Share = r.shares.Share(use.Region, row.Name().Start, total)
		use.Rights, use.Unmet = row.Rights(use.Region, use.Share), row.Unmet(use.Region)
		for _, other := range others {
			if units := row.Given(use.Region, other); units > 0 {
				use.GivenTo = append(use.GivenTo, &weirv1.Transfer{Region: other, Units: units})
			}
			if units := row.Given(other, use.Region); units > 0 {
				use.ReceivedFrom = append(use.ReceivedFrom, &weirv1.Transfer{Region: other, Units: units})
			}
		}
	}
	return granted
}

// transferring lists the regions that gave or were given something: those that
// are shown, in their order, then any that are no longer.
func (r *Reader) transferring(row *crdt.Row) (regions []string) {
	var gone []string
	note := func(region string) {
		if !slices.Contains(r.regions, region) && !slices.Contains(gone, region) {
			gone = append(gone, region)
		}
	}
	some := false
	for _, e := range row.Entries() {
		if e.Gifts == "" {
			continue
		}
		some = true
		note(e.Replica.Region)
		for to := range e.Gifts.All() {
			note(to)
		}
	}
	if !some {
		return nil
	}
	slices.Sort(gone)
	return append(slices.Clone(r.regions), gone...)
}

func (r *Reader) exposure(q *weirv1.Quota, allowance int64) int64 {
	states := r.states.Regions()
	sides := make([]side, len(q.ByRegion))
	for i, use := range q.ByRegion {
		cut := i < len(states) && states[i].Name == use.Region && states[i].CutOff()
		sides[i] = sideOf(q.Limit, q.Used, use.Taken-use.GivenBack, use.Rights, !q.OvershootUnbounded, cut)
	}
	return exposure(q.Limit, q.Used, allowance, sides)
}

// cutOff names the regions that are cut off: with them what a page says changes
// though no row does.
func (r *Reader) cutOff() (names string) {
	for _, s := range r.states.Regions() {
		if s.CutOff() {
			names += s.Name + "\n"
		}
	}
	return names
}
