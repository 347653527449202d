package limiter

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"sync/atomic"

	"weir/limiter/quota"
	"weir/limiter/store"
)

const (
	// MaxReceiptBytes bounds a receipt: ten quotas with the longest names and
	// keys fit. What does not fit cannot be refunded, and is counted.
	MaxReceiptBytes = 4096
	// SecretBytes is the size of the key that a region's receipts are
	// authenticated with.
	SecretBytes = 32
)

// Secret authenticates a region's receipts. All its nodes have the same.
type Secret [SecretBytes]byte

// NewSecret returns a random one.
func NewSecret() (s Secret) {
	_, _ = rand.Read(s[:]) // never fails, says its documentation
	return s
}

// Receipts gives receipts for what allowed checks charged to quotas that are
// refundable, and knows its region's own. Its methods may be called from any
// goroutine.
type Receipts struct {
	region  string
	secrets atomic.Pointer[secrets]
	// Charges that no receipt names: there was no room, or no secret yet.
	cut, unsealed atomic.Uint64
}

// secrets are the one that seals, and the one before it: nodes of a region whose
// store lost it agree on another one after the other.
type secrets struct{ now, before Secret }

// NewReceipts returns receipts of a region. Until SetSecret none are given.
func NewReceipts(region string) *Receipts { return &Receipts{region: region} }

// SetSecret says what the region's receipts are authenticated with. Those given
// under the secret before it are still known.
func (r *Receipts) SetSecret(s Secret) {
	have := r.secrets.Load()
	switch {
	case have == nil:
		r.secrets.Store(&secrets{now: s, before: s})
	case have.now != s:
		r.secrets.Store(&secrets{now: s, before: have.now})
	}
}

// Unnamed counts the charges to refundable quotas that no receipt names: those
// past MaxReceiptBytes, and those made before the secret was known.
func (r *Receipts) Unnamed() uint64 { return r.cut.Load() + r.unsealed.Load() }

// receipt returns the receipt of a plan that was allowed, nil when it charged
// nothing that is refundable.
func (e *Engine) receipt(p *plan) []byte {
	if e.receipts == nil || p.call.Status != store.Allowed {
		return nil
	}
	return e.receipts.give(p)
}

func (r *Receipts) give(p *plan) []byte {
	var b []byte
	named := 0
	for i := range p.parts {
		part := &p.parts[i]
		if part.limit.Quota == nil || !part.limit.Quota.Refundable {
			continue
		}
		t := &p.call.Quotas[part.take]
		if t.Cost == 0 || t.Reign == 0 {
			continue
		}
		if b == nil {
			b = appendReceiptHead(make([]byte, 0, 256), r.region, p.call.Request)
		}
		with := appendCharge(b, charge{row: t.Row, reign: t.Reign, tag: t.Tag, cost: t.Cost})
		if len(with)+macBytes > MaxReceiptBytes {
			r.cut.Add(1)
			continue
		}
		b, named = with, named+1
	}
	if named == 0 {
		return nil
	}
	keys := r.secrets.Load()
	if keys == nil {
		r.unsealed.Add(uint64(named))
		return nil
	}
	return append(b, keys.now.mac(b)...)
}

// open reads one of the region's own receipts.
func (r *Receipts) open(b []byte) (receipt, error) {
	got, err := decodeReceipt(b)
	if err != nil {
		return receipt{}, err
	}
	if keys := r.secrets.Load(); got.region == r.region && keys != nil {
		body, mac := b[:len(b)-macBytes], b[len(b)-macBytes:]
		if hmac.Equal(mac, keys.now.mac(body)) || hmac.Equal(mac, keys.before.mac(body)) {
			return got, nil
		}
	}
	return receipt{}, errForged
}

// mac is HMAC-SHA-256 (RFC 2104), truncated.
func (s *Secret) mac(body []byte) []byte {
	h := hmac.New(sha256.New, s[:])
	_, _ = h.Write(body) // a hash does not fail
	return h.Sum(nil)[:macBytes]
}

// receipt is what a receipt says.
type receipt struct {
	region  string
	request quota.RequestID
	charges []charge // at least one
}

// charge is what one quota was charged.
type charge struct {
	row   store.RowName
	reign store.Reign
	tag   uint16
	cost  int64 // units, at least 1
}

// ends is when the last of its periods is over, in Unix seconds.
func (r *receipt) ends() (end int64) {
	for i := range r.charges {
		end = max(end, r.charges[i].row.End)
	}
	return end
}
