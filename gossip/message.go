package gossip

import "time"

// Message is a frame for one peer. Messages with the same news share the
// encoded rows.
type Message struct {
	To   string
	head []byte
	rows []byte
}

// Frame returns the frame, which has waited to be sent for so long. It is the
// caller's.
func (m Message) Frame(held time.Duration) []byte {
	f := make([]byte, 0, len(m.head)+len(m.rows)+8)
	f = append(f, m.head...)
	f = append(f, m.rows...)
	return appendHeld(f, held)
}

// IsZero says whether there is no message.
func (m Message) IsZero() bool { return m.To == "" }
