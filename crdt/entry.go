package crdt

// Replica is a single writer of a row: a region's store in one reign, or one
// process of a node while it decides without the store.
type Replica struct {
	Region string
	Nonce  uint64
}

// Entry is what one replica counted: units taken (P) and given back (N). Its
// numbers only grow, and travel and merge as one under one version.
type Entry struct {
	Replica         Replica
	Version         uint64
	Taken, Returned int64
}
