package model

// The largest world a State can hold. A Config names the part that is used.
const (
	maxRegions = 3
	maxNodes   = 3 // of each region
	maxReigns  = 4 // of each region
	maxDelayed = 2 // messages on their way at once
	maxHistory = 10
)

// entry is what one replica counted, as its writer held it at one version. It
// travels and merges as one. Version 0 is the entry that was never written.
type entry struct {
	Version uint8
	Taken   uint8 // P, units
	Back    uint8 // N, units
	Given   [maxRegions]uint8
	// BackVersion is used by the law-breaker that lets P and N travel apart, and
	// is 0 otherwise.
	BackVersion uint8
}

func (e entry) net() int { return int(e.Taken) - int(e.Back) }

func (e entry) gifts() int {
	sum := 0
	for _, g := range e.Given {
		sum += int(g)
	}
	return sum
}

func (e *entry) merge(o entry) {
	if o.Version > e.Version {
		back, version := e.Back, e.BackVersion
		*e = o
		if version > o.BackVersion {
			e.Back, e.BackVersion = back, version
		}
		return
	}
	if o.BackVersion > e.BackVersion {
		e.Back, e.BackVersion = o.Back, o.BackVersion
	}
}

// entries are a region's replicas, by reign. A reign's index stands for its
// nonce: it is never used twice.
type entries [maxReigns]entry

func (es *entries) merge(o *entries) {
	for k := range es {
		es[k].merge(o[k])
	}
}

// What a store's marker says.
const (
	markNone  = iota // no reign: it was wiped, or nobody has opened one yet
	markClaim        // a node is opening a reign
	markNonce        // a reign
)

// Whether a copy of the store answers.
const (
	copyNone    = iota // there is no such copy
	copyFrozen         // it holds data and answers nobody
	copyServing        // it decides
)

// store is one copy of a region's store.
type store struct {
	Mode   uint8
	Marker uint8
	Valid  uint8 // 1 while the run_id is the one the marker was set under
	Reign  uint8
	Row    entries
	// Floor and Unpaid are used by law-breakers alone: a number that stands for
	// all earlier replicas, and gifts that are not deducted yet.
	Floor, Unpaid uint8
	Split         uint8 // an acknowledgement for the whole region
}

func (st *store) rules(reign uint8) bool {
	return st.Mode == copyServing && st.Marker == markNonce && st.Valid == 1 && st.Reign == reign
}

// What a call asks of the store.
const (
	callNone = iota
	callDecide
	callLease
	callGive
)

// Where a call is.
const (
	callSent    = iota + 1 // on its way to the store
	callApplied            // counted there; the reply is on its way
)

// call is a node's one outstanding or unresolved call. The request id is the
// slot itself: whether the store has applied or cancelled it is kept here, since
// only the reign that was called would know.
type call struct {
	Kind, Stage uint8
	Lost        uint8 // 1: the reply will not be believed; unresolved
	Cancelled   uint8 // 1: settled, and its reply is still on its way
	Reign       uint8
	Units       uint8
	To          uint8
	Received    uint8 // what the caller knew when it sent
	Elsewhere   uint8
	Acks        [maxRegions]uint8
	Pledge      uint8
	Told        entries
	Reply       entry
}

// Where a lease is.
const (
	leaseNone = iota
	leaseHeld
	leaseReturning // the node stopped using it; the store may have heard
)

type lease struct {
	Stage, Reign, Units uint8
	Applied             uint8 // 1: the reign it was taken in has counted the return
	AppliedNext         uint8 // the law-breaker's: so has another reign
}

// How far a node is in opening a reign. Whoever wipes or replaces the claim
// takes the others back to phaseNone: their compare-and-set would fail.
const (
	phaseNone = iota
	phaseClaimed
	phaseExchanged
)

type node struct {
	Up    uint8
	Reign uint8 // 1 + the reign it is caught up with, 0 for none
	Phase uint8
	// Answered is 1 once it has answered the exchange of the opening under way.
	Answered uint8
	Left     uint8 // a bit for each reign it has forsaken; with Config.Forsake
	Alone    uint8 // 1 + the replica of its own that this process counts in, 0 for none
	Call     call
	Lease    lease
	Memory   [maxRegions]entries
	Disk     entries // its own region's entries as last fsynced
	// Pledge is its own to the next split, on disk; Acks what it knows of each
	// region's acknowledgement.
	Pledge uint8
	Acks   [maxRegions]uint8
}

type region struct {
	Stores [2]store // 0 is the present one, 1 another copy
	Nodes  [maxNodes]node
	Reigns uint8 // replicas so far: reigns, and processes that decided without the store
	Alone  uint8 // a bit for each replica that is such a process
	Ghost  ghost
}

// message is an entry on its way between nodes.
type message struct {
	Set, Region, Reign uint8
	Outside            uint8 // 1: it may be read by other regions
	Entry              entry
}

// State is one state of the world. It is a plain value: copying it copies all.
type State struct {
	Regions  [maxRegions]region
	Messages [maxDelayed]message
	Left     budget
	Begun    uint8 // a bit for each region in which the period has begun
	Ended    uint8 // endedAll once it is over, and a bit for each store that dropped the row
}

const endedAll = 1 << 7

// budget counts what may still happen on a path. Every kind has its own bound.
type budget struct {
	Decides, Leases, Gives, Refunds, Reads           uint8
	Wipes, Failovers, Splits, Crashes, Disks, Silent uint8
	Losses, Gossip, Opens                            uint8
}
