package model

// Mutant names one law that is broken. LawAbiding breaks none.
type Mutant string

// The law-breakers. Each is a simpler rule that somebody might build.
const (
	LawAbiding            Mutant = ""
	DeductAfterGiving     Mutant = "deduct-after-giving"
	ScalarFloor           Mutant = "scalar-floor"
	ReplicaInTwoReigns    Mutant = "replica-written-in-two-reigns"
	ShareToEachReplica    Mutant = "share-to-each-replica"
	AdoptedUnexchanged    Mutant = "reign-adopted-without-exchange"
	LateReplyBelieved     Mutant = "late-reply-believed"
	LeaseInNextReign      Mutant = "lease-returned-in-next-reign"
	CancelInNextReign     Mutant = "call-cancelled-in-next-reign"
	LocalSplit            Mutant = "split-from-local-configuration"
	GiftBeforeDurable     Mutant = "gift-sent-before-durable"
	GiftToldBeforeDurable Mutant = "gift-told-within-region-before-durable"
	ReceiptInOtherReign   Mutant = "receipt-honoured-in-another-reign"
	SeparateDeltas        Mutant = "P-and-N-in-separate-deltas"
	ClaimSkipped          Mutant = "claim-skipped"
	NotAskedAgain         Mutant = "not-asked-again-after-a-crash"
	PeriodUnchecked       Mutant = "period-not-checked"
	PledgeBeforeDurable   Mutant = "pledge-used-before-durable"
	AckByOneNode          Mutant = "acknowledgement-by-one-node"
	ClaimNotUnique        Mutant = "claim-not-unique"
	LargerShareInDoubt    Mutant = "larger-share-in-doubt"
	OpenInStoreReplica    Mutant = "open-counted-in-the-store's-replica"
)

// Config is one world and the bounds within which it is explored.
type Config struct {
	Mutant  Mutant
	Regions int
	Nodes   int // of each region
	Reigns  int // of each region, at most
	Quota   int // Q, units
	Excess  int // ε, units

	// Gossip makes what nodes know of other regions part of the state, and
	// carries it entry by entry. Without it a node may know, whenever it calls,
	// of every gift that ever left its region and of nothing that other regions
	// took: the most permissive view, and the fewest states.
	Gossip bool
	// Delayed is how many messages may be on their way at once. They are read
	// any number of times, by anyone, and dropped.
	Delayed int
	// Slow lets a call reach the store later than it was sent.
	Slow bool
	// History keeps what every replica was at every version.
	History bool
	// NextSplit, when given, is the split the regions may acknowledge, in units;
	// the period begins in each region at some point on the path.
	NextSplit []int
	// Spared is a bit for each region that no fault befalls.
	Spared uint8
	// Lone is a bit for each region that has only one node.
	Lone uint8
	// Forsake is a law that the design does not ask for: who starts or answers
	// the exchange of an opening never calls under an earlier reign again.
	Forsake bool
	// Strict grants nothing to faults: it shows what each costs.
	Strict bool
	// Period lets the period end, and rows be dropped.
	Period bool

	// Cold starts with empty stores, otherwise each region has a reign already.
	Cold bool

	Budget budget
}

func (c *Config) nodes(r int) int {
	if c.Lone&(1<<r) != 0 {
		return 1
	}
	return c.Nodes
}

func (c *Config) mayFault(r int) bool { return c.Spared&(1<<r) == 0 }

func (c *Config) mayCrash(s *State, r int) bool { return s.Left.Crashes > 0 && c.mayFault(r) }

// total is ⌊Q + ε⌋, units.
func (c *Config) total() int { return c.Quota + c.Excess }

// even is the first split: largest remainder first, in order of name.
func (c *Config) even(r int) int {
	share := c.total() / c.Regions
	if r < c.total()%c.Regions {
		share++
	}
	return share
}

// spent is what the store takes the region to have used: all its replicas, merged
// one by one.
func (c *Config) spent(st *store) int {
	own := st.Row[st.Reign]
	switch c.Mutant {
	case ScalarFloor:
		return own.net() + own.gifts() + int(st.Floor)
	case ShareToEachReplica:
		return own.net() + own.gifts()
	default:
	}
	sum := -int(st.Unpaid)
	for k := range st.Row {
		sum += st.Row[k].net() + st.Row[k].gifts()
	}
	return sum
}

// taken is what the store knows this region's value to be, ΣP − ΣN.
func (c *Config) taken(st *store) int {
	if c.Mutant == ScalarFloor {
		return st.Row[st.Reign].net() + int(st.Floor)
	}
	sum := 0
	for k := range st.Row {
		sum += st.Row[k].net()
	}
	return sum
}

// told merges what the caller sent of the region's replicas into the row. The
// reign's own entry is written by the store alone.
func (c *Config) told(st *store, sent *entries) {
	floor := 0
	for k := range sent {
		if k == int(st.Reign) {
			continue
		}
		st.Row[k].merge(sent[k])
		floor += sent[k].net() + sent[k].gifts()
	}
	if c.Mutant == ScalarFloor {
		st.Floor = max(st.Floor, uint8(max(floor, 0)))
	}
}

// write is a change of the reign's own entry.
func (c *Config) write(st *store, change func(*entry)) entry {
	own := &st.Row[st.Reign]
	change(own)
	own.Version++
	if c.Mutant == SeparateDeltas {
		own.BackVersion = own.Version
	}
	return *own
}

// decide is the script: it takes units of the quota, or gives them, or refuses.
func (c *Config) decide(r int, st *store, cl *call) bool {
	c.told(st, &cl.Told)
	rights := c.share(r, cl) + int(cl.Received) - c.spent(st)
	units := int(cl.Units)
	switch cl.Kind {
	case callDecide, callLease:
		if int(cl.Elsewhere)+c.taken(st)+units > c.Quota || rights < units {
			return false
		}
		cl.Reply = c.write(st, func(e *entry) { e.Taken += cl.Units })
	case callGive:
		// Units is the target. What is given already is part of it.
		old := st.Row[st.Reign].Given[cl.To]
		given := min(cl.Units, old+uint8(max(rights, 0)))
		if given <= old {
			return false
		}
		cl.Reply = c.write(st, func(e *entry) { e.Given[cl.To] = given })
		if c.Mutant == DeductAfterGiving {
			st.Unpaid += given - old
		}
	}
	return true
}
