// Package region assembles one node of a region: its store, its share of the
// replicated rows, its snapshot, and its doors.
//
// A node starts in this order, and ends in the reverse: the snapshot is opened,
// membership begins with the snapshot's rows, the store is opened (it may be
// down), the doors open (alive, not ready), and then, in the background, the
// store is waited for, its rows are taken in, the peers' rows are heard; only
// then is the node ready. What happens in between is told by /readyz.
package region
