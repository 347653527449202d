package gossip

import "time"

// What the protocol bounds. Passing a bound is counted, see Counters.
const (
	// TickInterval is how often Tick is called.
	TickInterval = 100 * time.Millisecond

	// freshFor is how long the name of a new row is told with each change of it:
	// by then all nodes should know it.
	freshFor = time.Second
	// heartbeatInterval is how long a peer goes without a frame at most. The
	// ages of regions are as fine as this; a gap is noticed within it.
	heartbeatInterval = 500 * time.Millisecond
	// gapPatience is how long a missing frame may be late: frames overtake each
	// other, each has its own connection.
	gapPatience = time.Second
	// sessionPatience is how long a session may stand still before it is begun
	// anew, exchangePatience that of an exchange, which is to be done within a
	// second: time for a second try. Within a session that moves, a request is made again after half of
	// it when later ones were answered.
	sessionPatience  = 2 * time.Second
	exchangePatience = 500 * time.Millisecond
	// sessionInterval is how often a session is begun with some peer although
	// nothing seems to be missing.
	sessionInterval = 10 * time.Second
	// A session heals both sides. So this node's own with a peer waits while that
	// peer's goes on: until it was quiet for turnQuiet, or turnPatience is over.
	turnQuiet    = 300 * time.Millisecond
	turnPatience = 3 * time.Second
	// repairQuiet is how long nothing must have been repaired from a peer until
	// others are told to look, where it was more than is told as news.
	repairQuiet = 500 * time.Millisecond
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

	// splitsPatience is how long a peer that was told of splits may show that it
	// knows others until it is told again.
	splitsPatience = 500 * time.Millisecond

	// maxRowsBytes bounds the rows of one frame.
	maxRowsBytes = 256 << 10
	// maxFrameBytes bounds a frame: its rows, or one row that is larger, and
	// the rest.
	maxFrameBytes = 2 * maxRowsBytes
	// stepRows bounds the rows that one call of Next or Step takes in, encodes,
	// compares or drops: less than a tenth of a millisecond under the caller's
	// lock, with a million rows, too.
	stepRows = 64
	// maxToldRows bounds what is remembered of the rows told to one peer, and
	// what waits to be told to a region or a peer again. Past it, sessions are.
	maxToldRows = 1 << 16
	// maxDeltaFrames bounds the frames of news a peer gets with one tick; what
	// does not fit stays for the next.
	maxDeltaFrames = 8
	// maxAnswerBytes bounds the answers and repairs that one peer gets with one
	// tick, maxAnswerBytesAll those that all get; a frame more may be sent. As long
	// as maxWaiting frames to a peer wait unsent it gets none.
	maxAnswerBytes    = 8 * maxRowsBytes
	maxAnswerBytesAll = 2 * maxAnswerBytes
	maxWaiting        = 8
	// maxSessions bounds the sessions this node holds at once, those of exchanges
	// not counted.
	maxSessions = 4
	// maxOpen bounds the requests of one session that wait for answers: as much as
	// a fast link carries while a message crosses an ocean. maxRequests bounds
	// those of one peer that wait to be answered.
	maxOpen     = 8
	maxRequests = 2 * maxOpen
	// maxSpans bounds the spans that one request or answer names, maxAnswerSpans
	// those an answer gives digests of.
	maxSpans       = 1024
	maxAnswerSpans = 64
	// maxGroups and maxLeaves bound what one request asks for; groupsAtOnce,
	// leavesAtOnce and marksAtOnce are what this node asks for: the answer to that
	// is about a frame.
	maxGroups    = 16
	maxLeaves    = 1024
	groupsAtOnce = maxGroups
	leavesAtOnce = maxLeaves
	marksAtOnce  = 4096
	// maxMarks bounds the rows an answer may want: those of a request's lists.
	maxMarks = 1 << 16
	// maxUnknown bounds the rows of a peer's deltas whose names are missing; past
	// it a session finds them.
	maxUnknown = 4096
	// maxRepairNews bounds the repaired rows that are told as news. Past it, other
	// peers are made to look for themselves.
	maxRepairNews = 4096
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

	wireVersion = 2
)
