package sim

import (
	"container/heap"
	"time"
)

// event is something that happens at an instant. Those of one instant happen
// in the order they were made.
type event struct {
	at   time.Duration
	seq  int
	what string
	do   func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || (e[i].at == e[j].at && e[i].seq < e[j].seq)
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) } //nolint:forcetypeassert // container/heap hands back what at pushed
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// at makes an event, after a time from now.
func (w *world) at(after time.Duration, what string, do func()) {
	w.seq++
	heap.Push(&w.queue, event{w.now + after, w.seq, what, do})
}

// every repeats, beginning at a random phase.
func (w *world) every(interval time.Duration, what string, do func()) {
	var again func()
	again = func() {
		do()
		w.at(interval, what, again)
	}
	w.at(w.between(0, interval), what, again)
}

func (w *world) runUntil(end time.Duration) {
	for w.violated == nil && len(w.queue) > 0 && w.queue[0].at <= end {
		e := heap.Pop(&w.queue).(event) //nolint:forcetypeassert // see Push
		w.now = e.at
		w.report.Events++
		w.mix(uint64(e.at))
		w.mix(uint64(e.seq))
		if w.opt.Trace != nil {
			w.note("%v %s", e.at, e.what)
		}
		e.do()
	}
	w.now = max(w.now, end)
}

// mix takes a number into the fingerprint of the run.
func (w *world) mix(n uint64) {
	x := w.report.Trace ^ n
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	w.report.Trace = x*0xc4ceb9fe1a85ec53 + 1
}

// wheel draws one of several things by weight.
func (w *world) wheel(weights ...int) int {
	sum := 0
	for _, n := range weights {
		sum += n
	}
	at := w.rand.IntN(sum)
	for i, n := range weights {
		if at < n {
			return i
		}
		at -= n
	}
	panic("unreachable")
}

func (w *world) between(from, to time.Duration) time.Duration {
	if to <= from {
		return from
	}
	return from + time.Duration(w.rand.Int64N(int64(to-from)))
}

func (w *world) chance(p float64) bool { return w.rand.Float64() < p }
