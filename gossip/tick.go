package gossip

import "time"

// batch is the encoded rows of one frame of news.
type batch struct {
	rows  []byte
	count int
}

// Tick does what is due and returns the messages to send; NextAnswer has more.
// nowUnix is the time of day in Unix seconds: it says which periods have ended.
func (c *Core) Tick(now time.Duration, nowUnix int64) []Message {
	c.nowUnix = nowUnix
	c.raiseStamp()
	if c.rows.HasEnded(nowUnix - periodGraceSeconds) {
		c.counters.RowsEnded += uint64(c.rows.DropEnded(nowUnix-periodGraceSeconds, sweepPlaces))
	}
	c.answersLeft = maxAnswerFramesAll
	c.expireAsks(now)
	c.makeAsks(now)
	c.choose(now)
	news := c.takeNews()
	var out []Message
	for _, p := range c.peers {
		p.answers = 0
		out = c.tickPeer(now, p, news, out)
	}
	return out
}

func (c *Core) tickPeer(now time.Duration, p *peer, news []batch, out []Message) []Message {
	switch {
	case p.chosen && len(news) > 0:
		for i := range news {
			out = append(out, c.newsFrame(now, p, &news[i]))
		}
	case p.asks || p.heartbeatDue(now):
		out = append(out, c.newsFrame(now, p, &batch{}))
	}
	return out
}

// newsFrame makes a frame of news, or a heartbeat; it may ask for all rows too.
func (c *Core) newsFrame(now time.Duration, p *peer, b *batch) Message {
	f := c.frame(now, p, len(b.rows))
	if p.asks {
		p.asks = false
		f = appendUint(f, frameWantAllRows, p.ask.request)
	}
	return c.send(now, p, append(f, b.rows...), b.count)
}

// takeNews encodes what changed, up to the frames of one tick. With nobody to
// tell there is no news: who comes later asks for all.
func (c *Core) takeNews() []batch {
	if len(c.peers) == 0 {
		c.dirty.clear()
		return nil
	}
	for n := range c.deltaRoom {
		b := &c.deltaRoom[n]
		c.fill(b)
		if b.count == 0 {
			return c.deltaRoom[:n]
		}
	}
	return c.deltaRoom[:]
}

func (c *Core) fill(b *batch) {
	b.rows, b.count = b.rows[:0], 0
	for id, replica, ok := c.dirty.peek(); ok; id, replica, ok = c.dirty.peek() {
		if c.rows.Row(id, &c.encoder.row) && !c.ended(c.encoder.row.Name()) {
			end := len(b.rows)
			b.rows = c.encoder.append(b.rows, replica, c.regions.index)
			if len(b.rows) > maxRowsBytes && b.count > 0 {
				b.rows = b.rows[:end]
				return
			}
			b.count++
		}
		c.dirty.pop()
	}
}

// frame begins a frame to a peer, with room for so many bytes of rows.
func (c *Core) frame(now time.Duration, p *peer, rows int) []byte {
	f := make([]byte, 0, rows+256)
	f = appendUint(f, frameVersion, wireVersion)
	f = appendText(f, frameNode, c.node)
	f = appendText(f, frameRegion, c.region)
	f = appendFixed(f, frameStream, p.out.number)
	f = appendUint(f, frameSequence, p.out.next())
	for i, name := range c.regions.names {
		f = appendText(f, frameRegions, name)
		if age, known := c.age(now, i); known {
			f = appendHeard(f, uint32(i), age, c.regions.heard[i].stamp)
		}
	}
	return f
}

// send counts a frame as handed out.
func (c *Core) send(now time.Duration, p *peer, frame []byte, rows int) Message {
	p.sent, p.lastSent = true, now
	p.waiting++
	c.counters.FramesSent++
	c.counters.RowsSent += uint64(rows)
	c.counters.BytesSent += uint64(len(frame))
	return Message{To: p.Name, Frame: frame}
}
