package region

import (
	"sync/atomic"

	"weir/gossip"
	"weir/region/api"
)

// regionStates keeps the state of every region ready to be read: answers that
// rest on a quota carry it, so it is worked out once a tick, not once a check.
type regionStates struct {
	here    string
	names   []string
	mesh    *gossip.Mesh
	current atomic.Pointer[[]api.RegionState]
}

func newRegionStates(here string, names []string, mesh *gossip.Mesh) *regionStates {
	r := &regionStates{here: here, names: names, mesh: mesh}
	r.refresh()
	return r
}

// Regions implements api.Regions.
func (r *regionStates) Regions() []api.RegionState { return *r.current.Load() }

func (r *regionStates) refresh() {
	heard := r.mesh.Heard()
	states := make([]api.RegionState, len(r.names))
	for i, name := range r.names {
		states[i] = api.RegionState{Name: name, Here: name == r.here}
		for _, h := range heard {
			if h.Region == name {
				states[i].Known, states[i].Age = h.Known, h.Age
			}
		}
	}
	r.current.Store(&states)
}
