package gossip

import (
	"fmt"

	"weir/crdt"
	wirev1 "weir/proto/wire/v1"
)

// EncodeSplits writes splits as frames carry them and a snapshot keeps them.
func EncodeSplits(s *crdt.Splits) *wirev1.Splits {
	out := &wirev1.Splits{}
	for _, k := range s.All() {
		v := &wirev1.SplitVersion{Version: k.Version, More: k.More}
		for _, rival := range k.Rivals {
			split := &wirev1.Split{}
			for _, w := range rival.Weights {
				split.Weights = append(split.Weights, &wirev1.SplitWeight{Region: w.Region, Weight: w.Weight})
			}
			v.Rivals = append(v.Rivals, split)
		}
		for _, a := range k.Acks {
			v.Acks = append(v.Acks, &wirev1.SplitAck{Region: a.Region, AfterUnixSeconds: a.After})
		}
		out.Versions = append(out.Versions, v)
	}
	return out
}

// DecodeSplits reads what EncodeSplits wrote; an error wraps crdt.ErrSplit and
// says which rule it breaks.
func DecodeSplits(in *wirev1.Splits) (crdt.Splits, error) {
	if n := len(in.GetVersions()); n > crdt.MaxSplits {
		return crdt.Splits{}, fmt.Errorf("%w: there are %d versions, may be %d", crdt.ErrSplit, n, crdt.MaxSplits)
	}
	known := make([]crdt.Known, 0, len(in.GetVersions()))
	for _, v := range in.GetVersions() {
		k := crdt.Known{Version: v.GetVersion(), More: v.GetMore()}
		for _, rival := range v.GetRivals() {
			split := crdt.Split{Version: k.Version}
			for _, w := range rival.GetWeights() {
				split.Weights = append(split.Weights, crdt.Weight{Region: w.GetRegion(), Weight: w.GetWeight()})
			}
			k.Rivals = append(k.Rivals, split)
		}
		for _, a := range v.GetAcks() {
			k.Acks = append(k.Acks, crdt.Ack{Region: a.GetRegion(), After: a.GetAfterUnixSeconds()})
		}
		known = append(known, k)
	}
	return crdt.NewSplits(known)
}

// readSplits reads what a frame says of splits.
func (in *Inbound) readSplits(f *wirev1.Frame) error {
	in.splitsDigest = f.SplitsDigest
	if f.Splits == nil {
		return nil
	}
	splits, err := DecodeSplits(f.Splits)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFrame, err)
	}
	in.splits = &splits
	return nil
}
