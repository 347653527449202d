package gossip

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"weir/crdt"
	wirev1 "weir/proto/wire/v1"
)

// ErrFrame is wrapped by every error that says a frame breaks the rules. Such a
// frame had no effect.
var ErrFrame = errors.New("malformed frame")

// Inbound is a decoded frame. It shares nothing with the bytes it was decoded
// from.
type Inbound struct {
	malformed        error // nothing else is set then
	begun            bool
	merged           int // rows that Step took in so far
	heardReply       int // and parts of the reply
	node, region     string
	heard            []heardState
	rows             []inboundRow
	repair           bool
	unknown          []crdt.RowID
	request          *request // nil: none
	reply            *reply
	stream, sequence uint64
	splitsDigest     uint64
	splits           *crdt.Splits // nil: none
	// Entries left out because their numbers break the rules.
	invalid int
	bytes   int
}

type heardState struct {
	region string
	age    time.Duration
	stamp  uint64
}

// inboundRow is a row, or the change of one that should be known.
type inboundRow struct {
	id      crdt.RowID
	named   bool
	name    crdt.RowName
	entries []crdt.Entry
}

// Decode reads a frame, which takes longer than to take it in and needs no core.
// What is wrong with it, Step says and counts.
func Decode(frame []byte) *Inbound {
	in, err := decode(frame)
	if err != nil {
		return &Inbound{malformed: err}
	}
	return in
}

// decode reads a frame. What makes the frame unreadable is an error; an entry
// with numbers that no honest peer sends is left out and counted, so that one
// spoilt entry does not keep the rest from travelling.
func decode(frame []byte) (*Inbound, error) {
	if len(frame) > maxFrameBytes {
		return nil, fmt.Errorf("%w: %d bytes, may have %d", ErrFrame, len(frame), maxFrameBytes)
	}
	var f wirev1.Frame
	if err := proto.Unmarshal(frame, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	if err := checkFrame(&f); err != nil {
		return nil, err
	}
	in := &Inbound{
		node: f.Node, region: f.Region, repair: f.Repair,
		stream: f.Stream, sequence: f.Sequence, bytes: len(frame),
	}
	for _, read := range [...]func(*wirev1.Frame) error{in.readHeard, in.readRows, in.readDeltas, in.readUnknown, in.readSync, in.readSplits} {
		if err := read(&f); err != nil {
			return nil, err
		}
	}
	return in, nil
}

func checkFrame(f *wirev1.Frame) error {
	switch {
	case f.Version == 0:
		return fmt.Errorf("%w: version is 0", ErrFrame)
	case f.Node == "" || len(f.Node) > maxNodeBytes:
		return fmt.Errorf("%w: node has %d bytes, must have 1 to %d", ErrFrame, len(f.Node), maxNodeBytes)
	case len(f.Regions) > maxRegions:
		return fmt.Errorf("%w: %d regions, may have %d", ErrFrame, len(f.Regions), maxRegions)
	case len(f.Heard) > maxRegions:
		return fmt.Errorf("%w: %d ages, may have %d", ErrFrame, len(f.Heard), maxRegions)
	case f.Stream == 0 || f.Sequence == 0:
		return fmt.Errorf("%w: stream %d, sequence %d, must not be 0", ErrFrame, f.Stream, f.Sequence)
	}
	for _, name := range append(f.Regions[:len(f.Regions):len(f.Regions)], f.Region) {
		if name == "" || len(name) > crdt.MaxRegionBytes {
			return fmt.Errorf("%w: region has %d bytes, must have 1 to %d", ErrFrame, len(name), crdt.MaxRegionBytes)
		}
	}
	return nil
}

func (in *Inbound) readHeard(f *wirev1.Frame) error {
	held := time.Duration(f.HeldMs) * time.Millisecond
	for _, h := range f.Heard {
		if int64(h.Region) >= int64(len(f.Regions)) {
			return fmt.Errorf("%w: age of region %d of %d", ErrFrame, h.Region, len(f.Regions))
		}
		if h.Stamp > maxStamp {
			return fmt.Errorf("%w: stamp is %d, may be %d", ErrFrame, h.Stamp, uint64(maxStamp))
		}
		age := time.Duration(h.AgeMs)*time.Millisecond + held
		in.heard = append(in.heard, heardState{f.Regions[h.Region], age, h.Stamp})
	}
	return nil
}

func (in *Inbound) readRows(f *wirev1.Frame) error {
	in.rows = make([]inboundRow, 0, len(f.Rows))
	for _, r := range f.Rows {
		name := crdt.RowName{Rule: r.Rule, Key: r.Key, Start: r.StartUnixSeconds, End: r.EndUnixSeconds, Generation: r.Generation}
		if err := name.Validate(); err != nil {
			return fmt.Errorf("%w: %w", ErrFrame, err)
		}
		if len(r.Entries) > crdt.MaxEntries {
			return fmt.Errorf("%w: row has %d entries, may have %d", ErrFrame, len(r.Entries), crdt.MaxEntries)
		}
		row := inboundRow{id: name.ID(), named: true, name: name}
		if err := in.readEntries(&row, r.Entries, f.Regions); err != nil {
			return err
		}
		in.rows = append(in.rows, row)
	}
	return nil
}

func (in *Inbound) readEntries(row *inboundRow, entries []*wirev1.Entry, regions []string) error {
	row.entries = make([]crdt.Entry, 0, len(entries))
	for _, e := range entries {
		if int64(e.Region) >= int64(len(regions)) {
			return fmt.Errorf("%w: entry of region %d of %d", ErrFrame, e.Region, len(regions))
		}
		gifts, sound, err := readGifts(e.Gifts, regions)
		if err != nil {
			return err
		}
		entry := crdt.Entry{
			Replica: crdt.Replica{Region: regions[e.Region], Nonce: e.Replica},
			Version: e.Version, Taken: int64(e.Taken), Returned: int64(e.Returned),
			Granted: int64(e.Granted), Unmet: int64(e.Unmet), Gifts: gifts,
		}
		if !sound || entry.Validate() != nil {
			in.invalid++
			continue
		}
		row.entries = append(row.entries, entry)
	}
	return nil
}

// readGifts says beside the gifts whether they are such as an honest peer sends:
// few, and above 0, and each region once.
func readGifts(gifts []*wirev1.Gift, regions []string) (out crdt.Gifts, sound bool, err error) {
	if len(gifts) > crdt.MaxGiftRegions {
		return "", false, nil
	}
	for _, g := range gifts {
		if int64(g.Region) >= int64(len(regions)) {
			return "", false, fmt.Errorf("%w: gift to region %d of %d", ErrFrame, g.Region, len(regions))
		}
		to := regions[g.Region]
		if g.Units == 0 || g.Units > crdt.MaxUnits || out.To(to) != 0 {
			return "", false, nil
		}
		out = out.With(to, int64(g.Units))
	}
	return out, true, nil
}

func (in *Inbound) readDeltas(f *wirev1.Frame) error {
	r := deltaReader{regions: f.Regions}
	if err := r.readReplicas(f.DeltaReplicas); err != nil {
		return fmt.Errorf("%w: list of replicas %w", ErrFrame, err)
	}
	r.b = f.Deltas
	for len(r.b) > 0 {
		row, err := r.readRow()
		if err != nil {
			return fmt.Errorf("%w: delta %w", ErrFrame, err)
		}
		in.rows = append(in.rows, row)
	}
	in.invalid += r.invalid
	return nil
}

func (in *Inbound) readUnknown(f *wirev1.Frame) error {
	const size = len(crdt.RowID{})
	if len(f.Unknown)%size != 0 || len(f.Unknown) > maxUnknown*size {
		return fmt.Errorf("%w: unknown rows have %d bytes, must be IDs of %d, at most %d", ErrFrame, len(f.Unknown), size, maxUnknown)
	}
	for b := f.Unknown; len(b) > 0; b = b[size:] {
		in.unknown = append(in.unknown, crdt.RowID(b[:size]))
	}
	return nil
}

func (in *Inbound) readSync(f *wirev1.Frame) (err error) {
	if f.Request != nil {
		if in.request, err = readRequest(f.Request); err != nil {
			return err
		}
	}
	if f.Answer != nil {
		in.reply, err = readReply(f.Answer)
	}
	return err
}
