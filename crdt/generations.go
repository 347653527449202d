package crdt

// generations knows the newest generation of rows that were reset: few. Rows of
// earlier generations stay until their period ends, and count for themselves.
type generations map[RowID]uint32 // by the row's ID in generation 0

func (g generations) add(name RowName) {
	if name.Generation == 0 {
		return
	}
	first := name
	first.Generation = 0
	id := first.ID()
	g[id] = max(g[id], name.Generation)
}

// drop forgets a row that ended: with it all its generations have.
func (g generations) drop(name RowName) {
	if name.Generation == 0 {
		return
	}
	name.Generation = 0
	delete(g, name.ID())
}

// Generation is the newest generation the table holds of the row that has this
// ID in generation 0.
func (t *Table) Generation(first RowID) uint32 { return t.generations[first] }
