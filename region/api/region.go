package api

import (
	"time"

	weirv1 "weir/proto/weir/v1"
	"weir/region/ledger"
)

// RegionState is how long ago a region was last heard, directly or through
// others.
type RegionState struct {
	Name  string
	Here  bool // this node's own region
	Known bool // heard at all
	Age   time.Duration
}

// Regions knows the state of every region, in the order of their names. The
// slice is read only.
type Regions interface {
	Regions() []RegionState
}

// CutOff tells a region of which too little is known to count on.
func (r RegionState) CutOff() bool { return !r.Here && (!r.Known || r.Age >= ledger.CutOff) }

func (r RegionState) touch() weirv1.Touch {
	switch {
	case r.CutOff():
		return weirv1.Touch_TOUCH_CUT_OFF
	case !r.Here && r.Age >= ledger.InTouch:
		return weirv1.Touch_TOUCH_BEHIND
	}
	return weirv1.Touch_TOUCH_IN_TOUCH
}

func regionStates(regions []RegionState) []*weirv1.RegionState {
	out := make([]*weirv1.RegionState, len(regions))
	for i, r := range regions {
		age := r.Age.Milliseconds()
		if !r.Known && !r.Here {
			age = -1
		}
		out[i] = &weirv1.RegionState{Region: r.Name, Here: r.Here, Touch: r.touch(), StalenessMs: age}
	}
	return out
}

// globalView says how much of the world this node has heard.
func globalView(regions []RegionState) *weirv1.GlobalView {
	view := new(weirv1.GlobalView)
	for _, r := range regions {
		if r.CutOff() {
			view.MissingRegions = append(view.MissingRegions, r.Name)
		}
		if r.Known && !r.Here {
			view.OldestMs = max(view.OldestMs, r.Age.Milliseconds())
		}
	}
	return view
}
