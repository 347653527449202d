package gossip

import "weir/crdt"

// batch is the rows of one frame of news, encoded. Once it is sealed it does not
// change, and all who send it share it. A row that is new here goes with its
// name, others as changes of rows that are known by their ID.
type batch struct {
	ids      []crdt.RowID
	replicas replicaTable
	rows     encodedRows
	// The rest of the frames, once the batch is sealed.
	body []byte
}

// encodedRows are rows of a frame: those with names as fields, those without as
// the content of one.
type encodedRows struct{ named, deltas []byte }

func (r *encodedRows) add(row encodedRows) {
	r.named = append(r.named, row.named...)
	r.deltas = append(r.deltas, row.deltas...)
}

func (r *encodedRows) len() int { return len(r.named) + len(r.deltas) }

func (b *batch) add(id crdt.RowID, row encodedRows) {
	b.rows.add(row)
	b.ids = append(b.ids, id)
}

// hasRoom says whether a row may be added; the first always may.
func (b *batch) hasRoom(row encodedRows) bool {
	return len(b.ids) == 0 || b.rows.len()+b.replicas.len()+row.len() <= maxRowsBytes
}

// seal makes what frames carry of it.
func (b *batch) seal() {
	if len(b.rows.deltas) == 0 {
		b.body = b.rows.named
		return
	}
	body := make([]byte, 0, b.rows.len()+b.replicas.len()+16)
	body = append(body, b.rows.named...)
	body = appendMessage(body, frameDeltaReplicas, b.replicas.encoded)
	b.body = appendMessage(body, frameDeltas, b.rows.deltas)
}
