package host

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/penstock-run/penstock/dag"
)

// visitKey is where the context of a completion bears its visit.
type visitKey struct{}

// timed is a visit in its process.
type timed struct {
	p *process
	v *visit
}

// Queued says that a visit waits for capacity: from now until running is
// called, its timeout stands still. ctx is that of a call of Options.Complete;
// any other is nobody's visit.
func Queued(ctx context.Context) (running func()) {
	t, ok := ctx.Value(visitKey{}).(timed)
	if !ok {
		return func() {}
	}
	t.change((*deadlines).pause)
	return sync.OnceFunc(func() { t.change((*deadlines).resume) })
}

// Anew reports whether the visit that asks is one whose completions no earlier
// answer may be given to. ctx is as for Queued.
func Anew(ctx context.Context) bool {
	t, ok := ctx.Value(visitKey{}).(timed)
	return ok && t.v.task.Anew
}

// Answered notes what is kept of an answer that a visit is given; ctx is as for
// Queued.
func Answered(ctx context.Context, c dag.Completion) {
	t, ok := ctx.Value(visitKey{}).(timed)
	if !ok {
		return
	}
	t.p.slot.mu.Lock()
	defer t.p.slot.mu.Unlock()
	if t.p.inFlight[t.v.task.Visit] == t.v { // else it has ended
		t.v.given = append(t.v.given, c)
	}
}

// VisitID is the id of the visit that asks, as its Task had it; 0 where ctx is of none.
func VisitID(ctx context.Context) uint64 {
	t, ok := ctx.Value(visitKey{}).(timed)
	if !ok {
		return 0
	}
	return t.v.task.Visit
}

// Given tells what Answered noted of the visit so far.
func Given(ctx context.Context) []dag.Completion {
	t, ok := ctx.Value(visitKey{}).(timed)
	if !ok {
		return nil
	}
	t.p.slot.mu.Lock()
	defer t.p.slot.mu.Unlock()
	return slices.Clip(t.v.given) // it only grows, so what is there stays as it is
}

// Action is that of the visit that asks; false: ctx, which is as for Queued, is
// nobody's visit.
func Action(ctx context.Context) (dag.Digest, bool) {
	t, ok := ctx.Value(visitKey{}).(timed)
	if !ok {
		return dag.Digest{}, false
	}
	return t.v.task.Action, true
}

func (t timed) change(change func(*deadlines, *visit, time.Time)) {
	t.p.slot.mu.Lock()
	defer t.p.slot.mu.Unlock()
	if t.p.inFlight[t.v.task.Visit] == t.v { // else it has ended
		change(&t.p.deadlines, t.v, time.Now())
	}
}
