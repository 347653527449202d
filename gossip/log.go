package gossip

import (
	"bytes"
	"log"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// maxLogLines bounds memberlist's lines a second: a stranger that knocks again
// and again must not fill the disk.
const maxLogLines = 10

// logWriter takes memberlist's lines. Warnings and errors go to slog, as
// warnings: none of them stops this node. It also counts, for memberlist does
// not, what came from nodes without the right key or label.
type logWriter struct {
	to *slog.Logger

	strangers  atomic.Uint64
	suppressed atomic.Uint64

	mu     sync.Mutex
	second time.Time
	lines  int
}

func (w *logWriter) logger() *log.Logger { return log.New(w, "", 0) }

// strangerSigns are what memberlist 0.7 says of traffic that does not decrypt
// or bears no proper label, and of a peer that refused ours.
var strangerSigns = []string{
	"Decrypt packet failed",
	"no installed keys could decrypt",
	"encryption is configured but remote state is not encrypted",
	"remote state is encrypted and encryption is not configured",
	"unacceptable label",
	"label header",
}

// Write implements io.Writer; memberlist writes one line at a time.
func (w *logWriter) Write(line []byte) (int, error) {
	level, text := splitLevel(string(bytes.TrimSpace(line)))
	if level == "DEBUG" || level == "INFO" {
		return len(line), nil
	}
	for _, sign := range strangerSigns {
		if strings.Contains(text, sign) {
			w.strangers.Add(1)
			break
		}
	}
	if w.allowed() {
		w.to.Warn("memberlist says", "line", text)
	} else {
		w.suppressed.Add(1)
	}
	return len(line), nil
}

func (w *logWriter) allowed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); now.Sub(w.second) >= time.Second {
		w.second, w.lines = now, 0
	}
	w.lines++
	return w.lines <= maxLogLines
}

func splitLevel(line string) (level, text string) {
	if rest, ok := strings.CutPrefix(line, "["); ok {
		if level, text, ok := strings.Cut(rest, "] "); ok {
			return level, text
		}
	}
	return "", line
}
