package gossip

import (
	"testing"
	"time"
)

func TestInStream(t *testing.T) {
	const a, b = 1<<32 | 1, 1<<32 | 2
	type frame struct {
		number, sequence uint64
		lost             bool
	}
	for _, tc := range []struct {
		what   string
		frames []frame
		giveUp bool
	}{
		{"in order", []frame{{a, 1, false}, {a, 2, false}, {a, 3, false}}, false},
		{"overtaken", []frame{{a, 2, false}, {a, 3, false}, {a, 1, false}, {a, 3, false}}, false},
		{"repeated", []frame{{a, 1, false}, {a, 1, false}, {a, 2, false}, {a, 1, false}}, false},
		{"one missing", []frame{{a, 1, false}, {a, 3, false}, {a, 3, false}}, true},
		{"first missing", []frame{{a, 2, false}}, true},
		{"two gaps, one closes", []frame{{a, 1, false}, {a, 3, false}, {a, 5, false}, {a, 2, false}}, true},
		{"far ahead", []frame{{a, 1, false}, {a, 66, true}, {a, 67, false}}, false},
		{"edge of the window", []frame{{a, 1, false}, {a, 65, false}}, true},
		{"new stream", []frame{{a, 1, false}, {b, 1, true}, {b, 2, false}}, false},
		{"late frame of an old stream", []frame{{a, 1, false}, {b, 1, true}, {a, 2, false}, {b, 2, false}}, false},
		{"late frame of an old process", []frame{{b, 1, false}, {9<<32 | 1, 1, true}, {b, 2, false}, {9<<32 | 1, 2, false}}, false},
		{"new process", []frame{{b, 1, false}, {9<<32 | 1, 1, true}}, false},
	} {
		var s inStream
		for i, f := range tc.frames {
			if got := s.receive(0, f.number, f.sequence); got != f.lost {
				t.Errorf("%s: frame %d: lost = %v", tc.what, i, got)
			}
		}
		if s.giveUp(gapPatience - 1) {
			t.Errorf("%s: gave up early", tc.what)
		}
		if got := s.giveUp(gapPatience); got != tc.giveUp {
			t.Errorf("%s: giveUp = %v", tc.what, got)
		}
		if s.giveUp(time.Hour) {
			t.Errorf("%s: gave up twice", tc.what)
		}
	}
}
