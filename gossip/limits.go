package gossip

import "time"

// What the protocol bounds. Passing a bound is counted, see Counters.
const (
	// TickInterval is how often Tick is called.
	TickInterval = 100 * time.Millisecond

	// heartbeatInterval is how long a peer goes without a frame at most. The
	// ages of regions are as fine as this; a gap is noticed within it.
	heartbeatInterval = 500 * time.Millisecond
	// gapPatience is how long a missing frame may be late: frames overtake each
	// other, each has its own connection.
	gapPatience = time.Second
	// askPatience is how long an answer may stand still before it is asked for
	// anew.
	askPatience = 3 * time.Second
	// exchangePatience is that for an exchange, which is to be done within a
	// second.
	exchangePatience = 250 * time.Millisecond
	// troublePatience is how long a peer that could not be reached is passed
	// over when another of its region can take the news.
	troublePatience = 2 * time.Second

	// toldMemory is how long it may take to notice that a frame was lost without
	// a word: the next frame to the peer fails, or shows the receiver the gap and
	// the answer to its request fails. What went to a peer within this time may
	// be missing when a frame fails.
	toldMemory = 10 * time.Second
	// silencePatience is how long a member of the own region may be silent until
	// what others told it alone is asked for, silenceInterval how often that is.
	silencePatience = 3 * time.Second
	silenceInterval = 10 * time.Second

	// maxRowsBytes bounds the rows of one frame.
	maxRowsBytes = 256 << 10
	// maxFrameBytes bounds a frame: its rows, or one row that is larger, and
	// the rest.
	maxFrameBytes = 2 * maxRowsBytes
	// stepRows and stepPlaces bound the rows that one call of Next or Step takes
	// in, encodes or drops, and the places of the table it looks at: less than a
	// tenth of a millisecond under the caller's lock.
	stepRows   = 256
	stepPlaces = 4096
	// maxToldRows bounds what is remembered of the rows told to one peer, and
	// what waits to be told to a region again. Past it, all rows are asked for.
	maxToldRows = 1 << 16
	// maxDeltaFrames bounds the frames of news a peer gets with one tick; what
	// does not fit stays for the next.
	maxDeltaFrames = 8
	// maxAnswerFrames bounds the frames of answers with one tick: to one peer,
	// and as long as that many of its frames wait unsent; to all.
	maxAnswerFrames    = 8
	maxAnswerFramesAll = 16
	// maxAnswerPlaces bounds the places of the table that one part stands for.
	maxAnswerPlaces = 1 << 16
	// maxParts bounds what an answer may say it consists of: 16 GiB of rows.
	maxParts = 1 << 16
	// maxAsks bounds the answers this node waits for at once.
	maxAsks = 4
	// sweepPlaces bounds the places of the table swept with one tick.
	sweepPlaces = 1 << 14

	// maxStamp bounds stamps, so that raising one never wraps round.
	maxStamp = 1 << 62

	// ownRegionPeers is how many nodes of the own region get the news.
	ownRegionPeers = 3
	// maxPeers and maxRegions bound the nodes and regions a node knows.
	maxPeers   = 1024
	maxRegions = 64
	// maxNodeBytes bounds a node's name.
	maxNodeBytes = 255

	// periodGraceSeconds is how long after its end a period is still counted:
	// clocks differ.
	periodGraceSeconds = 60
	// maxFutureSeconds is how far ahead a period may begin. None that a clock
	// in order opens begins later than a month ahead.
	maxFutureSeconds = 40 * 24 * 3600

	wireVersion = 1
)
