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
	// Asks counts requests for all rows, Answers those answered to the end,
	// AskTimeouts requests whose answer stood still.
	Asks, Answers, AskTimeouts uint64

	// Exchanges counts those this node began.
	Exchanges uint64

	// RowsEnded counts rows dropped with their period.
	RowsEnded uint64
}
