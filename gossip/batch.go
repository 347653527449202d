package gossip

import (
	"bytes"

	"weir/crdt"
)

// batch is the rows of one frame of news, encoded. Once it is sealed it does not
// change, and all who send it share it. A row that is new here goes with its
// name, others as changes of rows that are known by their ID.
type batch struct {
	ids      []crdt.RowID
	replicas replicaTable
	own      encodedRows
	// What other regions are told, if that is less.
	split  bool
	abroad encodedRows
	// The rest of the frames, once the batch is sealed.
	ownBody, abroadBody []byte
}

// encodedRows are rows of a frame: those with names as fields, those without as
// the content of one.
type encodedRows struct{ named, deltas []byte }

func (r *encodedRows) add(row encodedRows) {
	r.named = append(r.named, row.named...)
	r.deltas = append(r.deltas, row.deltas...)
}

func (r *encodedRows) len() int { return len(r.named) + len(r.deltas) }

// add adds a row, encoded for the own region and for others.
func (b *batch) add(id crdt.RowID, own encodedRows) {
	if b.split {
		b.abroad.add(own)
	}
	b.own.add(own)
	b.ids = append(b.ids, id)
}

// addWithheld adds a row of which other regions are told less.
func (b *batch) addWithheld(id crdt.RowID, own, abroad encodedRows) {
	if !b.split {
		b.split = true
		b.abroad = encodedRows{bytes.Clone(b.own.named), bytes.Clone(b.own.deltas)}
	}
	b.own.add(own)
	b.abroad.add(abroad)
	b.ids = append(b.ids, id)
}

// hasRoom says whether a row may be added; the first always may.
func (b *batch) hasRoom(row encodedRows) bool {
	return len(b.ids) == 0 || b.own.len()+b.replicas.len()+row.len() <= maxRowsBytes
}

// seal makes what frames carry of it.
func (b *batch) seal() {
	b.ownBody = b.body(b.own)
	b.abroadBody = b.ownBody
	if b.split {
		b.abroadBody = b.body(b.abroad)
	}
}

func (b *batch) body(rows encodedRows) []byte {
	if len(rows.deltas) == 0 {
		return rows.named
	}
	body := make([]byte, 0, rows.len()+b.replicas.len()+16)
	body = append(body, rows.named...)
	body = appendMessage(body, frameDeltaReplicas, b.replicas.encoded)
	return appendMessage(body, frameDeltas, rows.deltas)
}

// told is what the own region's peers are told, or those abroad.
func (b *batch) told(abroad bool) []byte {
	if abroad {
		return b.abroadBody
	}
	return b.ownBody
}
