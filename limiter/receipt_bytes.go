package limiter

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"weir/crdt"
	"weir/limiter/quota"
	"weir/limiter/store"
)

// A receipt in bytes:
//
//	version   1 byte, 1
//	region    its length (1 byte), then itself
//	request   16 bytes
//	charges   each: rule and key, each its length (varint) and itself; start,
//	          end (varints, zigzag), generation (varint), reign (8 bytes,
//	          big-endian), tag (2 bytes), cost (varint)
//	mac       16 bytes, over all before
//
// Varints are those of Protocol Buffers, in their shortest form.
const (
	receiptVersion = 1
	macBytes       = 16
)

// ErrReceipt is wrapped by every error that says that bytes are no receipt of a
// region that is known here.
var ErrReceipt = errors.New("not a receipt")

var (
	errForged = fmt.Errorf("%w: it was not given here, or was changed since", ErrReceipt)
	errCut    = fmt.Errorf("%w: cut short", ErrReceipt)
)

func appendReceiptHead(b []byte, region string, request quota.RequestID) []byte {
	b = append(b, receiptVersion, byte(len(region)))
	b = append(b, region...)
	return append(b, request[:]...)
}

func appendCharge(b []byte, c charge) []byte {
	for _, text := range [...]string{c.row.Rule, c.row.Key} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	b = binary.AppendVarint(b, c.row.Start)
	b = binary.AppendVarint(b, c.row.End)
	b = binary.AppendUvarint(b, uint64(c.row.Generation))
	b = binary.BigEndian.AppendUint64(b, uint64(c.reign))
	b = binary.BigEndian.AppendUint16(b, c.tag)
	return binary.AppendUvarint(b, uint64(c.cost))
}

// decodeReceipt reads a receipt without judging its authenticity. It takes
// nothing that would not be written so. Errors wrap ErrReceipt.
func decodeReceipt(b []byte) (receipt, error) {
	if len(b) > MaxReceiptBytes {
		return receipt{}, fmt.Errorf("%w: %d bytes, may have %d", ErrReceipt, len(b), MaxReceiptBytes)
	}
	if len(b) < macBytes {
		return receipt{}, errCut
	}
	body := b[:len(b)-macBytes]
	d := decoder{rest: body}
	if version := d.bytes(1); !d.failed && version[0] != receiptVersion {
		return receipt{}, fmt.Errorf("%w: version %d, this node knows %d", ErrReceipt, version[0], receiptVersion)
	}
	var r receipt
	if size := d.bytes(1); !d.failed {
		r.region = string(d.bytes(uint64(size[0])))
	}
	copy(r.request[:], d.bytes(uint64(len(r.request))))
	for !d.failed && len(d.rest) > 0 {
		r.charges = append(r.charges, d.charge())
	}
	if d.failed {
		return receipt{}, errCut
	}
	if err := r.validate(body); err != nil {
		return receipt{}, err
	}
	return r, nil
}

// validate says which rule a receipt breaks.
func (r *receipt) validate(body []byte) error {
	if r.region == "" || len(r.charges) == 0 {
		return fmt.Errorf("%w: it names no region or no charge", ErrReceipt)
	}
	same := appendReceiptHead(make([]byte, 0, len(body)), r.region, r.request)
	for _, c := range r.charges {
		name := crdt.RowName{Rule: c.row.Rule, Key: c.row.Key, Start: c.row.Start, End: c.row.End, Generation: c.row.Generation}
		if err := name.Validate(); err != nil {
			return fmt.Errorf("%w: %w", ErrReceipt, err)
		}
		if c.tag >= store.Tags || c.reign == 0 || c.cost < 1 || c.cost > quota.MaxUnits {
			return fmt.Errorf("%w: tag %d, reign %d or cost %d out of range", ErrReceipt, c.tag, c.reign, c.cost)
		}
		same = appendCharge(same, c)
	}
	if !bytes.Equal(same, body) {
		return fmt.Errorf("%w: a number is not in its shortest form", ErrReceipt)
	}
	return nil
}

// decoder takes parts off the front; once something was missing it has failed
// and gives zeros.
type decoder struct {
	rest   []byte
	failed bool
}

func (d *decoder) bytes(n uint64) []byte {
	if d.failed || n > uint64(len(d.rest)) {
		d.failed = true
		return nil
	}
	part := d.rest[:n]
	d.rest = d.rest[n:]
	return part
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.failed = true
		return 0
	}
	d.bytes(uint64(n))
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.rest)
	if n <= 0 {
		d.failed = true
		return 0
	}
	d.bytes(uint64(n))
	return v
}

func (d *decoder) text() string { return string(d.bytes(d.uvarint())) }

func (d *decoder) charge() charge {
	c := charge{row: store.RowName{Rule: d.text(), Key: d.text(), Start: d.varint(), End: d.varint()}}
	generation := d.uvarint()
	c.row.Generation = uint32(generation)
	if reign := d.bytes(8); !d.failed {
		c.reign = store.Reign(binary.BigEndian.Uint64(reign))
	}
	if tag := d.bytes(2); !d.failed {
		c.tag = binary.BigEndian.Uint16(tag)
	}
	cost := d.uvarint()
	if generation > 1<<32-1 || cost > quota.MaxUnits {
		d.failed = true
	}
	c.cost = int64(cost)
	return c
}
