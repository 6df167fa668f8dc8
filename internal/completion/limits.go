package completion

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// limiter lets the live calls of one provider go, over all stages that it is lent
// to: first come, first served; no more at a time than its window, no more a
// minute than its block says; and in a time of trouble one after the other, each
// after a pause (trouble.go).
type limiter struct {
	name              string
	clock             clock
	room              Room
	jitter            func(below time.Duration) time.Duration
	log               func(line string) // for people, called without mu
	evenly            *rate.Limiter     // keeps requests apart; nil: no bound
	requests, tokens  *minute           // nil: no bound
	maxWait, patience time.Duration

	mu       sync.Mutex
	queue    []*ticket // in order of their place
	places   uint64    // tickets so far
	sent     uint64    // calls so far: the number of the last
	inFlight int
	window   window

	failures  int // calls without an answer, in a row
	trouble   trouble
	mark      uint64               // number of the last call that was sent before the trouble's last pause
	probe     uint64               // number of the one call that may be under way in it; 0: none is
	shut      *proto.ProviderError // why no call is made any more; nil: they are
	shutUntil time.Time            // zero: for the rest of the run
	over      string               // why waits are over; empty: they are not

	wakes   time.Time // when stop's timer fires
	stop    func()    // nil: no timer is set
	wanting bool      // it asked for a place in the run, and hears when there is one
	paced   bool      // it was told that the block's own limits make calls wait
	lines   []string  // to be told once mu is free
	waits   waits
}

// ticket is a request's place in the queue. It keeps it while it is refused.
type ticket struct {
	tokens int // as estimated
	place  uint64
	number uint64 // of its call, once it may go

	ready  chan struct{} // closed when it may go, or is denied
	gone   bool          // ready is closed
	denied *proto.ProviderError
	queued bool // it waits, and its visits have given up their place in the run
	placed bool // it was let go with a place in the run of its own
	taken  *rate.Reservation
	at     time.Time // when the limits a minute allow it; zero: nobody has asked them
	asked  time.Time // when it came into the queue

	waited  time.Duration // in the queue, in all
	refused int
	said    string // by the provider, when it refused it last
}

func (s *Service) newLimiter(p *dag.Provider) *limiter {
	limits := p.Limits
	l := &limiter{
		name: p.Name, clock: s.clock, jitter: s.jitter, over: s.over, room: s.options.Room,
		log:     func(line string) { s.options.Log("warn", line) },
		maxWait: defaultMaxWait, patience: patience,
		window: newWindow(limits.Concurrency, limits.IgnoreLatency),
	}
	if limits.MaxWait != nil {
		l.maxWait = *limits.MaxWait
	}
	if limits.Patience != nil {
		l.patience = *limits.Patience
	}
	if n := limits.RequestsPerMinute; n > 0 {
		// A second's worth may go at once: servers count over windows shorter
		// than a minute, and a whole minute's burst would meet a refusal.
		l.evenly = rate.NewLimiter(rate.Limit(float64(n)/60), max(1, n/60))
		l.requests = &minute{most: n}
	}
	if n := limits.TokensPerMinute; n > 0 {
		l.tokens = &minute{most: n}
	}
	return l
}

func (l *limiter) say(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

// unlock lets mu go, and tells what there is to tell.
func (l *limiter) unlock() {
	lines := l.lines
	l.lines = nil
	l.mu.Unlock()
	for _, line := range lines {
		l.log(line)
	}
}

// enter waits until a call may go, which leave must be told the end of. It fails
// with a *deniedError where none may, or with the context's. wait is called where
// the call cannot go at once: what its visits hold of the run is others' meanwhile.
func (l *limiter) enter(ctx context.Context, t *ticket, wait func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	if t.place == 0 {
		l.places++
		t.place = l.places
	}
	t.ready, t.gone, t.queued, t.asked = make(chan struct{}), false, false, l.clock.now()
	// One that was refused has an early place: it stands near the front.
	at, _ := slices.BinarySearchFunc(l.queue, t, func(a, b *ticket) int { return cmp.Compare(a.place, b.place) })
	l.queue = slices.Insert(l.queue, at, t)
	l.dispatch()
	t.queued = !t.gone
	l.unlock()
	if t.queued {
		wait()
	}
	select {
	case <-t.ready:
		if t.denied != nil {
			return &deniedError{t.denied}
		}
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.unlock()
	if at := slices.Index(l.queue, t); at >= 0 {
		l.queue = slices.Delete(l.queue, at, at+1)
		l.giveBack(t)
		l.waits.counts.Waited += l.clock.now().Sub(t.asked)
	} else if t.denied == nil {
		l.end(t) // it was let go this very moment
		l.waits.counts.Calls--
		defer l.giveRoom(t)
	}
	l.dispatch()
	return ctx.Err()
}

// giveRoom gives the place back that a call was let go with, once its visits hold
// theirs again. It is called without mu.
func (l *limiter) giveRoom(t *ticket) {
	if t.placed {
		t.placed = false
		l.room.Give()
	}
}

// deniedError is why a provider's calls are over.
type deniedError struct{ why *proto.ProviderError }

func (e *deniedError) Error() string { return e.why.GetMessage() }

// dispatch lets go whom it may, and sees to it that the next one is not forgotten.
func (l *limiter) dispatch() {
	now := l.clock.now()
	l.waits.until(now)
	defer func() { l.waits.on = l.waitsOn(now) }()
	for len(l.queue) > 0 {
		if why := l.closed(now); why != nil {
			l.deny(now, why)
			break
		}
		t := l.queue[0]
		at, known := l.next(t, now)
		if known && !at.After(now) && !l.take(t) {
			known = false
		}
		switch {
		case known && !at.After(now):
			l.queue = slices.Delete(l.queue, 0, 1)
			l.send(t, now)
			continue
		case l.over != "":
			l.deny(now, &proto.ProviderError{Kind: proto.ProviderError_UNAVAILABLE, Message: "it waited for provider " + l.name + " when " + l.over})
			continue
		case known:
			l.wake(at, now)
		}
		return
	}
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// next is when a ticket may go; false where only another call's end can tell.
func (l *limiter) next(t *ticket, now time.Time) (time.Time, bool) {
	switch {
	case l.inFlight >= l.window.size, l.probe != 0:
		return time.Time{}, false
	case l.trouble.level == 0 && l.failures > 0 && l.failures+l.inFlight >= failuresToOpen:
		return time.Time{}, false // those under way decide whether there is trouble
	}
	l.pace(t, now)
	if t.at.Sub(now) >= worthTelling && !l.paced {
		l.paced = true
		l.say("provider %s: its limits a minute let the next call go in %s; such waits are not told again", l.name, Brief(t.at.Sub(now)))
	}
	if l.trouble.until.After(t.at) {
		return l.trouble.until, true
	}
	return t.at, true
}

// take takes a place in the run for a ticket that has none. Where there is none
// left, the limiter hears when there is.
func (l *limiter) take(t *ticket) bool {
	if l.room == nil || !t.queued || t.placed {
		return true
	}
	if l.wanting {
		return false
	}
	t.placed = l.room.Take(func() {
		l.mu.Lock()
		defer l.unlock()
		l.wanting = false
		l.dispatch()
	})
	l.wanting = !t.placed
	return t.placed
}

// pace finds when what a minute allows lets a ticket go. Only the first in the queue
// is asked for, so what is sent is booked when it is sent.
func (l *limiter) pace(t *ticket, now time.Time) {
	t.at = now
	if l.evenly != nil {
		if t.taken == nil {
			t.taken = l.evenly.ReserveN(now, 1)
		}
		t.at = now.Add(t.taken.DelayFrom(now))
	}
	for _, at := range []time.Time{l.requests.when(now, 1), l.tokens.when(now, t.tokens)} {
		if at.After(t.at) {
			t.at = at
		}
	}
}

func (l *limiter) giveBack(t *ticket) {
	if t.taken != nil {
		t.taken.CancelAt(l.clock.now())
		t.taken = nil
	}
}

func (l *limiter) send(t *ticket, now time.Time) {
	l.sent++
	l.inFlight++
	t.number, t.taken = l.sent, nil
	if l.trouble.level > 0 {
		l.probe = t.number
	}
	l.requests.add(now, 1)
	l.tokens.add(now, t.tokens)
	l.waits.counts.Calls++
	l.out(t, now)
}

// out lets a ticket out of the queue.
func (l *limiter) out(t *ticket, now time.Time) {
	waited := now.Sub(t.asked)
	t.waited += waited
	l.waits.counts.Waited += waited
	t.gone = true
	close(t.ready)
}

// deny lets all who wait know that they wait in vain.
func (l *limiter) deny(now time.Time, why *proto.ProviderError) {
	for _, t := range l.queue {
		l.giveBack(t)
		t.denied = why
		l.out(t, now)
	}
	l.queue = nil
}

// wake sees to a dispatch at a moment.
func (l *limiter) wake(at, now time.Time) {
	if l.stop != nil && !at.Before(l.wakes) {
		return // and the timer that is set looks again
	}
	if l.stop != nil {
		l.stop()
	}
	l.wakes = at
	l.stop = l.clock.after(at.Sub(now), func() {
		l.mu.Lock()
		defer l.unlock()
		l.stop = nil
		l.dispatch()
	})
}

// closed tells why no call may go now; nil: calls may.
func (l *limiter) closed(now time.Time) *proto.ProviderError {
	if l.shut != nil && !l.shutUntil.IsZero() && !now.Before(l.shutUntil) {
		l.shut, l.failures = nil, 0
	}
	return l.shut
}

// why tells on what the provider's calls have ended; nil: they have not.
func (l *limiter) why() *proto.ProviderError {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed(l.clock.now())
}

// leave hears what came of a call, and reports whether it is asked again: a
// refusal for want of room is no failure of the request.
func (l *limiter) leave(t *ticket, o ending) (again bool) {
	l.mu.Lock()
	defer l.unlock()
	now := l.clock.now()
	inUse := 2*l.inFlight >= l.window.size
	l.end(t)
	e := o.err
	hint := time.Duration(e.GetRetryAfterMillis()) * time.Millisecond
	switch kind := e.GetKind(); {
	case o.unsent:
		l.waits.counts.Calls--
		// That the budget is spent ends the calls as a provider's quota does.
		if kind == proto.ProviderError_QUOTA && !o.unheard {
			l.shutFor(kind, e.GetMessage())
		}
	case o.unheard:
	case e == nil:
		l.window.succeeded(t.number, l.sent, o.took, inUse)
		l.answered(now, t.number)
	case capacity(kind):
		t.refused++
		t.said = e.GetMessage()
		l.refused(now, t.number, hint, e)
		again = true
	case transport(kind):
		l.failed(now, t.number, hint, e)
	case kind == proto.ProviderError_AUTH, kind == proto.ProviderError_QUOTA, kind == proto.ProviderError_NOT_FOUND:
		l.shutFor(kind, e.GetMessage())
	default:
		l.answered(now, t.number)
	}
	l.dispatch()
	return again
}

// shutFor ends the provider's calls for the run, for the first reason that there is.
func (l *limiter) shutFor(kind proto.ProviderError_Kind, said string) {
	if l.shut == nil {
		l.shut, l.shutUntil = &proto.ProviderError{Kind: kind, Message: said}, time.Time{}
	}
}

// ending is what came of a call.
type ending struct {
	err     *proto.ProviderError // nil: an answer
	took    time.Duration
	unheard bool // the call was given up: it says nothing of the provider
	unsent  bool // the call was never made
}

func (l *limiter) end(t *ticket) {
	l.inFlight--
	if l.probe == t.number {
		l.probe = 0
	}
}

// spent books what a call cost beyond its estimate; later calls wait for it.
func (l *limiter) spent(extra int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens.add(l.clock.now(), extra)
}

// endWaits lets no call wait any more: one that cannot go at once is denied.
func (l *limiter) endWaits(why string) {
	l.mu.Lock()
	defer l.unlock()
	if l.over == "" {
		l.over = why
	}
	l.dispatch()
}

// clock is the time as the service sees it; tests bring their own.
type clock struct {
	now   func() time.Time
	after func(d time.Duration, f func()) (stop func())
}

func after(d time.Duration, f func()) (stop func()) {
	timer := time.AfterFunc(d, f)
	return func() { timer.Stop() }
}
