package giving

import (
	"time"

	"weir/crdt"
)

// View is what the giving node knows of one row. It may be used again for the
// next row.
type View struct {
	ID    crdt.RowID
	Limit int64 // the quota, in units
	Left  int64 // Limit less the value, as known here; below 0 where it is overspent
	Own   int   // the index of the own region in Regions
	// Regions are all that may take of the row, in order of name, those with
	// share 0 included. Their number and names are the caller's, and Share, Age
	// and Known of each.
	Regions []Region
	Wants   []Want
}

// Region is what is known of one region.
type Region struct {
	Name  string
	Share int64 // of the row's rights, without gifts, in units

	Known bool          // whether anything was ever heard of it
	Age   time.Duration // of the newest state heard of it

	Rights int64 // what it may still let through, in units; see crdt.Row.Rights
	Taken  int64 // what it took, net, in units
	Given  int64 // what the own region gave it in all, in units
}

// Want is a replica's largest cost that was refused for want of rights, as its
// entry says. What else stands there tells a want that goes on from one that a
// replica left behind: an entry of a new version with the same counts says the
// want again.
type Want struct {
	Region  int // an index in View.Regions
	Nonce   uint64
	Version uint64
	Units   int64
	Taken   int64 // units that the replica took in all
	Moved   int64 // units that it gave to other regions, gave back and was granted
}

// Read fills the view with what a row says under a limit. Entries of regions
// that are not in Regions count in Left alone.
func (v *View) Read(row *crdt.Row, limit int64) {
	v.ID, v.Limit, v.Left, v.Wants = row.Name().ID(), limit, limit-row.Value(), v.Wants[:0]
	own := v.Regions[v.Own].Name
	for i := range v.Regions {
		r := &v.Regions[i]
		taken, returned := row.Region(r.Name)
		r.Rights, r.Taken, r.Given = row.Rights(r.Name, r.Share), taken-returned, row.Given(own, r.Name)
	}
	for _, e := range row.Entries() {
		if e.Unmet <= 0 {
			continue
		}
		if i := v.index(e.Replica.Region); i >= 0 {
			v.Wants = append(v.Wants, Want{Region: i, Nonce: e.Replica.Nonce, Version: e.Version, Units: e.Unmet,
				Taken: e.Taken, Moved: e.Returned + e.Granted + e.Gifts.Total()})
		}
	}
}

func (v *View) index(region string) int {
	for i := range v.Regions {
		if v.Regions[i].Name == region {
			return i
		}
	}
	return -1
}
