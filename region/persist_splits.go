package region

import (
	"errors"
	"fmt"

	"weir/crdt"
	"weir/gossip"
	"weir/region/snapshot"
)

// savedSplits are those in the snapshot, nil where there are none. Damaged ones
// are told of, and are no error: peers and the store may know them.
func (n *Node) savedSplits() (*crdt.Splits, error) {
	if n.saver == nil {
		return nil, nil //nolint:nilnil // nothing keeps any
	}
	splits, err := n.saver.restoreSplits()
	switch {
	case errors.Is(err, snapshot.ErrSplits) || errors.Is(err, crdt.ErrSplit):
		n.log.Error("the snapshot's split of quotas is damaged and left out: peers, the store or else weir.yaml say it anew", "err", err)
		return nil, nil //nolint:nilnil // see above
	case err != nil:
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return splits, nil
}

// restoreSplits reads the splits in the file, nil for none.
func (p *persister) restoreSplits() (*crdt.Splits, error) {
	saved, err := p.current().LoadSplits()
	if err != nil || saved == nil {
		return nil, err
	}
	splits, err := gossip.DecodeSplits(saved)
	if err != nil {
		return nil, err
	}
	return &splits, nil
}

// saveSplitsTo writes the splits if the file holds others. The caller holds
// p.saving.
func (p *persister) saveSplitsTo(file *snapshot.File) error {
	splits := p.mesh.Splits()
	if splits == p.splits || splits.Len() == 0 {
		return nil
	}
	if err := file.SaveSplits(gossip.EncodeSplits(splits)); err != nil {
		return err
	}
	p.splits = splits
	return nil
}
