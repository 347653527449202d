package sim

import (
	"weir/crdt"
	wirev1 "weir/proto/wire/v1"
)

// Mutant breaks a rule on purpose, in the node, the store or the network around
// the code under test.
type Mutant struct {
	Name string
	// Record rewrites what a node counts before its core hears it.
	Record func(crdt.Entry) crdt.Entry
	// Frame rewrites a frame before a node's core hears it.
	Frame func(f *wirev1.Frame)

	// Hear rewrites what a node heard: what is returned is taken in beside it.
	Hear func(k *replicaTruth, got crdt.Entry) crdt.Entry

	DeductLate      bool // a gift is told of before it is deducted
	ScalarFloor     bool // earlier replicas are one number, merged by maximum
	ReuseReplica    bool // a new reign goes on under the old nonce
	ShareEach       bool // a reign does not know what earlier ones used
	Unexchanged     bool // a reign is adopted without an exchange
	BelieveLate     bool // answers are believed whenever they come
	LeaseAnyReign   bool // a lease is returned to whatever reign there is
	LocalSplit      bool // the next split applies as soon as it is heard of
	TellEarly       bool // gifts are told before a disk has them
	ReceiptAnyReign bool // a receipt is honoured in whatever reign there is
	PeriodUnchecked bool // the store's clock is not asked
	ClaimSkipped    bool // a reign is opened without a claim before the exchange
}

// tellEarly is the law-breaker's: it takes for durable what no disk has.
func (n *node) tellEarly() {
	if !n.w.mutant.TellEarly {
		return
	}
	for _, rt := range n.w.truth.list {
		row := new(crdt.Row)
		if n.core.Row(rt.id, row) {
			n.core.MarkDurable([]*crdt.Row{row})
		}
	}
}
