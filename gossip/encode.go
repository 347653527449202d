package gossip

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"weir/crdt"
)

// Field numbers of weir.wire.v1. Frames are encoded by hand, so that the rows
// of a tick are encoded once for all its receivers and none needs a tree of
// messages; TestEncodingIsTheGenerated compares with the generated code.
const (
	frameVersion       = 1
	frameNode          = 2
	frameRegion        = 3
	frameRegions       = 4
	frameHeard         = 5
	frameRows          = 6
	frameStream        = 11
	frameSequence      = 12
	frameHeldMs        = 13
	frameDeltaReplicas = 15
	frameDeltas        = 16
	frameUnknown       = 17
	frameRepair        = 18
	frameRequest       = 19
	frameAnswer        = 20
	frameSplitsDigest  = 21
	frameSplits        = 22

	heardRegion = 1
	heardAgeMs  = 2
	heardStamp  = 3

	rowRule       = 1
	rowKey        = 2
	rowStart      = 3
	rowEnd        = 4
	rowGeneration = 5
	rowEntries    = 6

	entryRegion   = 1
	entryReplica  = 3
	entryVersion  = 4
	entryTaken    = 5
	entryReturned = 6
	entryGranted  = 7
	entryUnmet    = 8
	entryGifts    = 9

	giftRegion = 1
	giftUnits  = 3
)

func appendUint(b []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	b = protowire.AppendTag(b, field, protowire.VarintType)
	return protowire.AppendVarint(b, v)
}

func appendFixed(b []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	b = protowire.AppendTag(b, field, protowire.Fixed64Type)
	return protowire.AppendFixed64(b, v)
}

func appendText(b []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	b = protowire.AppendTag(b, field, protowire.BytesType)
	return protowire.AppendString(b, s)
}

func appendMessage(b []byte, field protowire.Number, body []byte) []byte {
	b = protowire.AppendTag(b, field, protowire.BytesType)
	return protowire.AppendBytes(b, body)
}

// rowEncoder encodes rows against a list of region names; it keeps its room.
type rowEncoder struct {
	body  []byte
	entry []byte
}

// append adds a row to a frame's rows: the entry of one replica, or all for
// wholeRow. Without entries there is nothing to add.
func (e *rowEncoder) append(b []byte, name crdt.RowName, entries []crdt.Entry, only crdt.Replica, region func(string) uint32) []byte {
	body := appendText(e.body[:0], rowRule, name.Rule)
	body = appendText(body, rowKey, name.Key)
	body = appendUint(body, rowStart, protowire.EncodeZigZag(name.Start))
	body = appendUint(body, rowEnd, protowire.EncodeZigZag(name.End))
	body = appendUint(body, rowGeneration, uint64(name.Generation))
	empty := true
	for _, en := range entries {
		if only != wholeRow && en.Replica != only {
			continue
		}
		e.entry = appendEntry(e.entry[:0], en, region)
		body = appendMessage(body, rowEntries, e.entry)
		empty = false
	}
	e.body = body
	if empty {
		return b
	}
	return appendMessage(b, frameRows, body)
}

func appendEntry(b []byte, e crdt.Entry, region func(string) uint32) []byte {
	b = appendUint(b, entryRegion, uint64(region(e.Replica.Region)))
	b = appendFixed(b, entryReplica, e.Replica.Nonce)
	b = appendUint(b, entryVersion, e.Version)
	b = appendUint(b, entryTaken, uint64(e.Taken))
	b = appendUint(b, entryReturned, uint64(e.Returned))
	b = appendUint(b, entryGranted, uint64(e.Granted))
	b = appendUint(b, entryUnmet, uint64(e.Unmet))
	for to, units := range e.Gifts.All() {
		var room [24]byte
		gift := appendUint(room[:0], giftRegion, uint64(region(to)))
		gift = appendUint(gift, giftUnits, uint64(units))
		b = appendMessage(b, entryGifts, gift)
	}
	return b
}

func appendHeard(b []byte, region uint32, age time.Duration, stamp uint64) []byte {
	var room [32]byte
	ms := min(max(age.Milliseconds(), 0), 1<<32-1)
	body := appendUint(room[:0], heardRegion, uint64(region))
	body = appendUint(body, heardAgeMs, uint64(ms))
	body = appendUint(body, heardStamp, stamp)
	return appendMessage(b, frameHeard, body)
}

// appendHeld adds how long a frame has waited. In protobuf the parts of a
// message may follow one another.
func appendHeld(frame []byte, held time.Duration) []byte {
	return appendUint(frame, frameHeldMs, uint64(min(max(held.Milliseconds(), 0), 1<<32-1)))
}
