package crdt

// RowName names one quota key in one period and generation.
type RowName struct {
	Rule, Key  string
	Start, End int64 // the period: [Start, End) in Unix seconds
	Generation uint32
}
