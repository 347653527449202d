package gossip

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/hashicorp/memberlist"
)

// transport is memberlist's own, with a deadline on every connection made:
// memberlist sets none before it sends a message, and a peer behind a black
// hole would hold its sender for as long as the kernel retries.
type transport struct {
	*memberlist.NetTransport
}

func newTransport(cfg *Config, logger *logWriter) (*transport, error) {
	nt, err := memberlist.NewNetTransport(&memberlist.NetTransportConfig{
		BindAddrs: []string{cfg.BindAddr},
		BindPort:  cfg.BindPort,
		Logger:    logger.logger(),
	})
	if err != nil {
		return nil, fmt.Errorf("listen for gossip on %s port %d: %w", cfg.BindAddr, cfg.BindPort, err)
	}
	return &transport{nt}, nil
}

// DialAddressTimeout implements memberlist.NodeAwareTransport.
func (t *transport) DialAddressTimeout(a memberlist.Address, timeout time.Duration) (net.Conn, error) {
	deadline := time.Now().Add(timeout)
	conn, err := t.NetTransport.DialAddressTimeout(a, timeout)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
