// Package region assembles one node of a region: its store, its share of the
// replicated rows, its snapshot, and its doors.
//
// A node starts in this order, and ends in the reverse: the snapshot is opened,
// membership begins with the snapshot's rows, the store is opened (it may be
// down), the doors open (alive, not ready), and then, in the background, the
// peers' rows are heard, the store is waited for and its rows are taken in, and it
// is settled how rights are split among regions: as the snapshot, the peers or the
// store know it, and only where none of them does as weir.yaml says. Only then is
// the node ready, and no check is decided before. What happens in between is told
// by /readyz.
package region
