package completion

import (
	"slices"
	"time"
)

// The figures of the window; docs/providers.md tells them.
const (
	windowStart   = 4  // calls at a time before anything is known of a provider
	windowDefault = 64 // the bound where the block has no `concurrency`
	beyondCeiling = 10 // rounds of successes before the window grows past the size that was refused

	slowRound = 8           // latencies that a verdict needs at least
	slowBy    = 3           // a median so many times the least one is that of a queue
	slowLeast = time.Second // and by so much longer: below it nothing is to be gained
)

// window is how many calls of a provider may be under way. It grows while calls
// succeed and shrinks once for a burst of refusals: a call that was sent before
// the last decrease says nothing that the decrease has not heard.
//
// It knows no time and takes no lock: its limiter does.
type window struct {
	size, bound int
	ceiling     int    // the size at which a refusal came last; 0: none has
	grown       int    // successes since the size was last changed
	shrunk      uint64 // number of the last call that was sent before the last decrease
	latency     latency
}

func newWindow(bound int, deaf bool) window {
	if bound <= 0 {
		bound = windowDefault
	}
	return window{size: min(bound, windowStart), bound: bound, latency: latency{deaf: deaf}}
}

// succeeded hears of an answer. A window that is not in use does not grow: that
// fewer calls succeed is no evidence that more would.
func (w *window) succeeded(number, sent uint64, took time.Duration, inUse bool) {
	w.hear(number, sent, took)
	if !inUse || w.size >= w.bound || w.latency.rising {
		return
	}
	w.grown++
	need := 1 // at the start it doubles with each round
	switch {
	case w.ceiling == 0:
	case w.size < w.ceiling:
		need = w.size
	default:
		need = beyondCeiling * w.size
	}
	if w.grown >= need {
		w.size++
		w.grown = 0
		if w.ceiling > 0 {
			w.ceiling = max(w.ceiling, w.size)
		}
	}
}

// lower makes the window smaller for a call that the provider could not take,
// sent being the number of the last call so far. A probe that is refused says
// nothing of how many calls at a time are too many.
func (w *window) lower(number, sent uint64, probe bool) {
	if number <= w.shrunk {
		return
	}
	if !probe {
		w.ceiling = w.size
	}
	w.shrink(sent)
	w.latency.trial = nil
}

func (w *window) shrink(sent uint64) {
	w.size = max(1, w.size*3/4)
	w.grown, w.shrunk = 0, sent
	w.latency.restart(sent, w.size)
}

// latency finds the provider that refuses nothing and lets its calls queue: it
// compares the median of a round of answers with the least median seen.
//
// Longer answers take longer, too, and a stage with longer ones may just have
// begun. So a decrease for latency is a trial: where the next round is as slow
// with fewer calls under way, the size comes back, and that round is what is
// normal from then on.
type latency struct {
	deaf   bool
	round  []time.Duration
	need   int           // latencies that the round has when it is full; 0: slowRound
	after  uint64        // only calls with higher numbers count for it
	normal time.Duration // 0: not known yet
	rising bool          // no decrease yet, but no growth either
	trial  *trial
}

type trial struct {
	size   int // before the decrease
	median time.Duration
}

func (l *latency) restart(sent uint64, size int) {
	l.round, l.after, l.need = l.round[:0], sent, max(slowRound, size)
}

func (w *window) hear(number, sent uint64, took time.Duration) {
	l := &w.latency
	if l.deaf || number <= l.after {
		return
	}
	if l.round = append(l.round, took); len(l.round) < max(slowRound, l.need) {
		return
	}
	slices.Sort(l.round)
	median := l.round[len(l.round)/2]
	l.restart(sent, w.size)
	if t := l.trial; t != nil {
		l.trial = nil
		if median > t.median*7/8 {
			w.size, w.grown, l.normal, l.rising = t.size, 0, median, false
			return
		}
	}
	if l.normal == 0 || median < l.normal {
		l.normal = median
	}
	longer := median-l.normal >= slowLeast
	l.rising = longer && median > (slowBy-1)*l.normal
	if longer && median > slowBy*l.normal && w.size > 1 {
		l.trial = &trial{w.size, median}
		w.ceiling = w.size
		w.shrink(sent)
	}
}
