package engine

import (
	"errors"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
	"github.com/penstock-run/penstock/internal/staging"
	"github.com/penstock-run/penstock/internal/telemetry"
)

// item is one item that was taken in and has not ended.
type item struct {
	family *family
	index  int // in family.members
	key    string
	t      *dag.Traversal // nil for an item that was refused before its first visit
	step   dag.Step       // the step that waits for the gate

	past       bool // beyond the gate's hold point
	waiting    bool // for its turn in the bucket
	started    bool // a visit was made for it, or for its parent, in this run
	evaluation *gate.Evaluation
	queued     bool // handed to the gate, in order
	end        dag.End
	verdict    gate.Verdict
	reason     string   // of a parked item
	cause      dag.Code // of infrastructure, with reason; may be empty
	refused    *dag.Failure
	origin     dag.Doc // of a refused item
	trace      *telemetry.Item
}

// family is a source item with all that it fanned out into: it has one place in
// its bucket's order, one claim and one record in the store.
type family struct {
	seq     uint64 // order in the sources, from 1
	key     dag.Digest
	intake  dag.Digest // of the record and its source
	source  string
	place   string // "<file>:<line>"
	bucket  *bucket
	members []*item // the source item first, children in fan-out order
	turn    int     // index of the member whose turn it is
	open    int     // members that have not ended
	record  staging.Trail

	again  map[string]*again // members that --retry takes up once more, by key
	before []Member          // of a plan: as the last trail has them
	docs   []dag.Doc         // of a plan: what a run would store before it comes to a visit
	looked bool
}

func (f *family) add(it *item) {
	it.family, it.index = f, len(f.members)
	f.members = append(f.members, it)
	f.open++
}

// drainReady steps every item that can be stepped, in the order in which they
// came to be ready: buckets are held in source order.
func (e *engine) drainReady() {
	for i := 0; i < len(e.ready); i++ {
		it := e.ready[i]
		e.ready[i] = nil
		e.advance(it)
	}
	e.ready = e.ready[:0]
}

// advance steps one item as far as it comes without waiting.
func (e *engine) advance(it *item) {
	for it.end == "" {
		if it.t == nil {
			e.toGate(it, dag.Step{Kind: dag.DoStop, End: dag.Failed, Code: it.refused.Code, Failed: it.refused})
			return
		}
		step, err := it.t.Next()
		if err == nil {
			err = e.keep(it, it.t.Made()...)
		}
		if err != nil {
			e.park(it, err)
			return
		}
		switch step.Kind {
		case dag.DoVisit:
			if !e.mayVisit(it, step.Stage) || !e.visit(it, step) {
				return
			}
		case dag.DoGate, dag.DoStop:
			e.toGate(it, step)
			return
		case dag.DoSpawn:
			e.spawn(it, step)
		case dag.Done:
			e.ended(it, step.End)
			return
		default:
			e.park(it, &dag.Error{Op: "step", Subject: it.key, Kind: dag.KindBug})
			return
		}
	}
}

// keep stores documents that an item's record cannot do without.
func (e *engine) keep(it *item, docs ...dag.Doc) error {
	if e.planning != nil {
		it.family.docs = append(it.family.docs, docs...)
		return nil
	}
	for _, doc := range docs {
		ref, err := e.store.Put(doc)
		if err != nil {
			return err
		}
		it.family.record.Need(ref, doc.Digest)
	}
	return nil
}

// spawn starts the children of a fan-out. They stand in the family's order
// right behind their parent, and inherit its hold.
func (e *engine) spawn(parent *item, step dag.Step) {
	f := parent.family
	for _, c := range step.Children {
		if err := e.keep(parent, c.Item); err != nil {
			e.park(parent, err)
			return
		}
		child := &item{key: c.Key, t: e.Graph.Child(parent.t, c), past: parent.past, started: true}
		f.add(child)
		child.trace = parent.trace.Child(child.key, f.bucket.name, f.source)
		e.tally.Spawned++
		e.items.open++
	}
	if err := parent.t.Apply(&dag.Spawned{}); err != nil {
		e.park(parent, err)
		return
	}
	e.ready = append(e.ready, f.members[len(f.members)-len(step.Children):]...)
}

// ended closes the book on one item.
func (e *engine) ended(it *item, end dag.End) {
	it.end = end
	f := it.family
	f.open--
	e.items.open--
	e.tally.Ends[end]++
	if end != dag.Accepted && end != dag.Expanded {
		e.tally.note(it)
	}
	e.Report.Item(itemEnd(it))
	e.tellEnded(it)
	it.traceEnd()
	if e.planning != nil {
		if end == dag.Parked {
			e.planning.planParked(it, e.Graph)
		}
		return
	}
	e.passTurn(it)
	if f.open == 0 {
		e.settle(f)
	}
}

// park sets an item aside for a later run: infrastructure, or an interrupt.
func (e *engine) park(it *item, err error) {
	if it.end != "" {
		return
	}
	it.reason = err.Error()
	var named *dag.Error
	if errors.As(err, &named) {
		it.cause = named.Code
	}
	kind := dag.KindOf(err)
	if kind != dag.KindInterrupted && e.stop.said == "" {
		e.stop.said = err.Error()
	}
	switch kind {
	case dag.KindInterrupted:
	case dag.KindBug:
		e.stop.kind = dag.KindBug
		e.stop.admit = true
	case dag.KindStopped:
		e.stop.kind = max(e.stop.kind, dag.KindStopped)
		e.stopVisits("the run was stopped")
	case dag.KindConfig, dag.KindDiffers: // it concerns every item
		e.stop.kind = max(e.stop.kind, kind)
		e.stopVisits("the run was stopped")
		if e.stop.cause == nil {
			e.stop.cause = err
		}
	default:
		e.tally.Infrastructure++
		if !e.KeepGoing {
			e.stop.admit = true
		}
	}
	e.ended(it, dag.Parked)
}

// stopVisits ends the making of visits: what runs finishes, and the rest is
// parked for why.
func (e *engine) stopVisits(why string) {
	e.stop.admit, e.stop.visits = true, true
	if e.stop.why == "" {
		e.stop.why = why
	}
	if e.completions != nil {
		e.completions.EndWaits(e.stop.why)
	}
}

func (s *stopping) reason() error { return &dag.Error{Op: s.why, Kind: dag.KindInterrupted} }

// parkWaiting parks what waits for a visit that will not be made, and for the
// next attempt of one.
func (e *engine) parkWaiting() {
	reason := e.stop.reason()
	for v, timer := range e.waiting {
		timer.Stop()
		delete(e.waiting, v)
		e.book(v).end(time.Now())
		e.abandon(v, reason)
	}
	for _, q := range e.work {
		for _, v := range q.visits {
			e.abandon(v, reason)
		}
		q.visits = nil
	}
	for _, b := range e.buckets {
		for _, f := range append([]*family(nil), b.families...) {
			for _, m := range f.members {
				if m.waiting && m.evaluation == nil && !m.queued {
					m.waiting = false
					e.park(m, reason)
				}
			}
		}
	}
}
