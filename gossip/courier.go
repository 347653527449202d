package gossip

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxParcels bounds the parcels that wait to be taken by another region, and
	// those that wait here to be delivered.
	maxParcels   = 10_000
	maxDelivered = 1024
	// parcelRetry is how long a parcel waits for its acknowledgement until it is
	// sent again.
	parcelRetry = time.Second
	// maxParcelsAtOnce bounds what is sent between two looks.
	maxParcelsAtOnce = 64
	// courierLook is how often parcels are looked at.
	courierLook = 200 * time.Millisecond
)

// ErrParcels: as many parcels wait as may.
var ErrParcels = errors.New("too many parcels wait for other regions")

// courier brings parcels to other regions: each to one node of its region, again
// until one says that it took it, for as long as it is worth something. A region
// that is out of touch gets them when it is back.
type courier struct {
	mu      sync.Mutex
	waiting map[parcelID]*waitingParcel

	inbox chan parcel
	// Counts of parcels: not taken in time; dropped on arrival, to come again.
	expired, dropped, delivered atomic.Uint64
}

type waitingParcel struct {
	parcel
	sentAt time.Duration
	sent   bool
}

func newCourier() courier {
	return courier{waiting: make(map[parcelID]*waitingParcel), inbox: make(chan parcel, maxDelivered)}
}

// Post hands payload to a node of another region, where Config.Deliver gets it;
// more than once if need be, so what it asks for must bear repetition. It is kept
// in memory, until it was taken or untilUnix has passed. ErrParcels: too many
// wait.
func (m *Mesh) Post(region string, payload []byte, untilUnix int64) error {
	if len(payload) > MaxParcelBytes {
		return fmt.Errorf("%w: carries %d bytes, may carry %d", ErrParcel, len(payload), MaxParcelBytes)
	}
	p := &waitingParcel{parcel: parcel{from: m.cfg.Node, region: region, untilUnix: untilUnix,
		payload: append([]byte(nil), payload...)}}
	_, _ = rand.Read(p.id[:]) // never fails, says its documentation
	m.courier.mu.Lock()
	defer m.courier.mu.Unlock()
	if len(m.courier.waiting) >= maxParcels {
		return ErrParcels
	}
	m.courier.waiting[p.id] = p
	return nil
}

// ParcelsWaiting is how many parcels no node of their region has taken yet.
func (m *Mesh) ParcelsWaiting() int {
	m.courier.mu.Lock()
	defer m.courier.mu.Unlock()
	return len(m.courier.waiting)
}

// take takes in a message that is no frame; it does not wait.
func (c *courier) take(b []byte) error {
	p, received, err := decodeParcel(b)
	if err != nil {
		return err
	}
	if received {
		c.mu.Lock()
		delete(c.waiting, p.id)
		c.mu.Unlock()
		return nil
	}
	select {
	case c.inbox <- p:
	default:
		c.dropped.Add(1) // it comes again
	}
	return nil
}

// due returns the parcels to be sent now, of regions that can be reached, and
// drops those worth nothing any more.
func (c *courier) due(now time.Duration, nowUnix int64, reaches func(region string) bool) (out []*waitingParcel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, p := range c.waiting {
		if len(out) == maxParcelsAtOnce {
			break
		}
		switch {
		case nowUnix > p.untilUnix:
			delete(c.waiting, id)
			c.expired.Add(1)
		case (!p.sent || now-p.sentAt >= parcelRetry) && reaches(p.region):
			p.sent, p.sentAt = true, now
			out = append(out, p)
		}
	}
	return out
}

func (m *Mesh) courierLoop(ctx context.Context) {
	look := time.NewTicker(courierLook)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			m.sendParcels()
		}
	}
}

// sendParcels sends what is due. A node that takes nothing is tried once: its
// region's other parcels come with a later look, perhaps by another node.
func (m *Mesh) sendParcels() {
	nodes := m.someNodes()
	reaches := func(region string) bool { return nodes[region] != "" }
	for _, p := range m.courier.due(m.cfg.Clock(), m.cfg.Now().Unix(), reaches) {
		if reaches(p.region) && !m.sendTo(nodes[p.region], p.encode()) {
			delete(nodes, p.region)
		}
	}
}

func (m *Mesh) deliverLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-m.courier.inbox:
			m.deliver(ctx, p)
		}
	}
}

// deliver hands a parcel over and says so once it was taken.
func (m *Mesh) deliver(ctx context.Context, p parcel) {
	if p.region != m.cfg.Region || m.cfg.Deliver == nil {
		return
	}
	if err := m.cfg.Deliver(ctx, p.payload); err != nil {
		m.log.Debug("gossip: parcel not taken; it comes again", "from", p.from, "error", err)
		return
	}
	m.courier.delivered.Add(1)
	m.sendTo(p.from, encodeReceived(p.id))
}

// someNodes are a member of each region, any.
func (m *Mesh) someNodes() map[string]string {
	nodes, seen := make(map[string]string), make(map[string]int)
	for _, member := range m.Members() {
		if member.Self {
			continue
		}
		seen[member.Region]++
		if mathrand.IntN(seen[member.Region]) == 0 {
			nodes[member.Region] = member.Name
		}
	}
	return nodes
}

// sendTo sends a message to a member, if it is one, and says whether it left.
// What is lost is sent again.
func (m *Mesh) sendTo(name string, message []byte) (sent bool) {
	m.mu.Lock()
	s := m.senders[name]
	m.mu.Unlock()
	if s == nil {
		return false
	}
	if err := m.list.SendReliable(&s.node, message); err != nil {
		m.log.Debug("gossip: parcel not sent", "node", name, "error", err)
		return false
	}
	return true
}
