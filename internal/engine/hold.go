package engine

import (
	"github.com/penstock-run/penstock/dag"
)

// bucket is a part of the corpus, with the items on their way to it in source
// order. One of them has the turn: the first member of the first family that
// has not passed it on.
type bucket struct {
	name     string
	families []*family
	held     bool // its first family may go beyond the hold point
}

// mayVisit reports whether an item may make this visit now. Beyond the gate's
// hold point only the item with the turn goes on, so that "consecutive" means
// something to a breaker; everything before it runs as it comes.
func (e *engine) mayVisit(it *item, s *dag.Stage) bool {
	hold := e.Graph.Gate.Hold
	if e.planning != nil || hold == nil || (!it.past && s != hold) {
		return true
	}
	turn := e.hasTurn(it)
	if turn && !it.past && e.gate.Tripped(it.family.bucket.name) {
		e.ended(it, dag.NotStarted)
		return false
	}
	if turn && e.take(it.family.bucket) {
		it.past = true
		return true
	}
	if e.stop.visits {
		e.park(it, e.stop.reason())
		return false
	}
	it.waiting = true
	return false
}

// hasTurn reports whether everything before the item in its bucket's order is done.
func (e *engine) hasTurn(it *item) bool {
	f := it.family
	return len(f.bucket.families) > 0 && f.bucket.families[0] == f && f.turn == it.index
}

// take holds a bucket, if so many may be held.
func (e *engine) take(b *bucket) bool {
	if b.held {
		return true
	}
	if most := e.Graph.Gate.Concurrency; most > 0 && e.heldBuckets >= most {
		return false
	}
	b.held = true
	e.heldBuckets++
	return true
}

// passTurn lets the next item of the bucket go on. Where the gate holds from an
// earlier stage on, the turn is passed when an item has ended; where it holds
// only at the gate, when an item was handed over, since the commit keeps the order.
func (e *engine) passTurn(it *item) {
	f := it.family
	b := f.bucket
	for f.turn < len(f.members) {
		m := f.members[f.turn]
		if m.end == "" && !(m.queued && e.Graph.Gate.Hold == nil) {
			break
		}
		f.turn++
	}
	if len(b.families) == 0 || b.families[0] != f {
		return
	}
	for len(b.families) > 0 && b.families[0].turn == len(b.families[0].members) {
		b.families = b.families[1:]
		if b.held {
			b.held = false
			e.heldBuckets--
		}
	}
	if len(b.families) == 0 {
		delete(e.buckets, b.name)
		b.families = nil
	}
	e.inTurn(b)
	e.inTurnElsewhere(b)
}

// inTurn wakes the item whose turn it is, if it waits: for a visit, or for the
// gate with its evaluation done.
func (e *engine) inTurn(b *bucket) {
	for len(b.families) > 0 {
		f := b.families[0]
		if f.turn >= len(f.members) {
			return
		}
		m := f.members[f.turn]
		switch {
		case m.end != "" || m.queued:
			return
		case m.evaluation != nil:
			m.waiting, m.queued = false, true
			if len(e.decided) == 0 {
				e.decidedAt = e.Now()
			}
			e.decided = append(e.decided, m)
			if e.Graph.Gate.Hold != nil {
				return
			}
			e.passTurn(m) // comes back here for the next
			return
		case m.waiting && m.step.Kind == 0:
			if e.gate.Tripped(b.name) {
				m.waiting = false
				e.ended(m, dag.NotStarted)
				return
			}
			if e.stop.visits {
				m.waiting = false
				e.park(m, e.stop.reason())
				return
			}
			if !e.take(b) {
				return
			}
			m.waiting = false
			e.ready = append(e.ready, m)
			return
		default:
			return
		}
	}
}

// inTurnElsewhere gives a freed hold to the bucket whose first family came first.
func (e *engine) inTurnElsewhere(freed *bucket) {
	most := e.Graph.Gate.Concurrency
	if e.Graph.Gate.Hold == nil || most == 0 {
		return
	}
	for e.heldBuckets < most {
		var next *bucket
		for _, b := range e.buckets {
			if b.held || b == freed || len(b.families) == 0 {
				continue
			}
			f := b.families[0]
			if f.turn >= len(f.members) || !f.members[f.turn].waiting {
				continue
			}
			if next == nil || f.seq < next.families[0].seq {
				next = b
			}
		}
		if next == nil {
			return
		}
		before := e.heldBuckets
		e.inTurn(next)
		if e.heldBuckets == before && len(next.families) > 0 && !next.held {
			return
		}
	}
}
