package host

import (
	"context"
	"sync"
	"time"
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

func (t timed) change(change func(*deadlines, *visit, time.Time)) {
	t.p.slot.mu.Lock()
	defer t.p.slot.mu.Unlock()
	if t.p.inFlight[t.v.task.Visit] == t.v { // else it has ended
		change(&t.p.deadlines, t.v, time.Now())
	}
}
