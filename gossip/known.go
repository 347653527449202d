package gossip

import "weir/crdt"

// Known is how a row stands with this node.
type Known struct {
	// Epoch grows whenever this node begins an exchange or is asked for one.
	Epoch uint64
	// Generation is the newest known of the row, if it was asked for by its ID in
	// generation 0.
	Generation uint32
	// HasRoom says whether the row is held, or could be.
	HasRoom bool
}

// Known is how a row stands with this node.
func (c *Core) Known(id crdt.RowID) Known {
	return Known{Epoch: c.Epoch(), Generation: c.rows.Generation(id), HasRoom: c.rows.HasRoom(id)}
}
