package gossip

// Counters count what a core did since it was made.
type Counters struct {
	FramesSent, RowsSent, BytesSent             uint64
	FramesReceived, RowsReceived, BytesReceived uint64

	// EntriesNew counts received entries that were new here.
	EntriesNew uint64

	// MalformedFrames had no effect. ForeignFrames bore this node's name or a
	// region other than the member's.
	MalformedFrames, ForeignFrames uint64
	// Rows and entries that were refused, from peers or from this node: of an
	// ended period; of a period too far ahead; past the bound on rows, on a
	// row's replicas, on regions; with numbers or names that break the rules.
	RefusedEnded, RefusedFuture, RefusedFull, RefusedReplicas, RefusedRegions, RefusedInvalid uint64
	// RefusedPeers counts members past the bound on peers.
	RefusedPeers uint64

	// Undelivered counts frames reported as not sent; RowsToldAgain, rows that
	// another node of the region was told for that; Gaps, times that frames were
	// missing from a peer's stream.
	Undelivered, RowsToldAgain, Gaps uint64
	// Asks counts sessions begun, AskTimeouts those that stood still; Answers,
	// requests of peers' sessions answered, RequestsDropped those that were too
	// many and are made again.
	Asks, AskTimeouts, Answers, RequestsDropped uint64
	// RowsUnknown counts rows asked for because a peer told of a change and the
	// name was missing; RowsRepaired, rows sent to a peer that lacked them;
	// RepairsDropped, times that such rows were too many: the peer finds them.
	RowsUnknown, RowsRepaired, RepairsDropped uint64

	// SplitsSent counts frames that told a peer of splits.
	SplitsSent uint64

	// Exchanges counts those this node began.
	Exchanges uint64

	// RowsEnded counts rows dropped with their period.
	RowsEnded uint64
}
