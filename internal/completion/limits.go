package completion

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// limiter bounds the live calls of one provider over all stages that it is
// lent to: how many at a time, how many requests and tokens a minute, and none
// before the moment that the server itself named.
type limiter struct {
	slots    chan struct{} // nil: no bound
	requests *rate.Limiter // nil: no bound
	tokens   *rate.Limiter // nil: no bound

	mu        sync.Mutex
	notBefore time.Time
	shut      *proto.ProviderError // why no call is made any more; nil: they are
}

// shutOn ends a provider's calls, those that wait among them, on an error that no
// other request would fare better with.
func (l *limiter) shutOn(e *proto.ProviderError) {
	switch e.GetKind() {
	case proto.ProviderError_AUTH, proto.ProviderError_QUOTA, proto.ProviderError_NOT_FOUND:
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.shut == nil {
			l.shut = e
		}
	}
}

// why tells on what the provider's calls ended; nil: they have not.
func (l *limiter) why() *proto.ProviderError {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shut
}

func newLimiter(l dag.Limits) *limiter {
	var lim limiter
	if l.Concurrency > 0 {
		lim.slots = make(chan struct{}, l.Concurrency)
	}
	if n := l.RequestsPerMinute; n > 0 {
		// A second's worth may go at once: servers count over windows shorter
		// than a minute, and a whole minute's burst would meet a refusal.
		lim.requests = rate.NewLimiter(perMinute(n), max(1, n/60))
	}
	if n := l.TokensPerMinute; n > 0 {
		lim.tokens = rate.NewLimiter(perMinute(n), n)
	}
	return &lim
}

func perMinute(n int) rate.Limit { return rate.Limit(float64(n) / 60) }

// acquire waits for a free slot, then for the moment when a call that costs so
// many tokens may go. The slot is held when it returns nil.
func (l *limiter) acquire(ctx context.Context, tokens int, clock clock) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if l.slots != nil {
		select {
		case l.slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := l.wait(ctx, tokens, clock); err != nil {
		l.release()
		return err
	}
	return nil
}

func (l *limiter) wait(ctx context.Context, tokens int, clock clock) error {
	now := clock.now()
	var delay time.Duration
	var taken []*rate.Reservation
	reserve := func(r *rate.Limiter, n int) {
		reservation := r.ReserveN(now, min(n, r.Burst()))
		taken = append(taken, reservation)
		delay = max(delay, reservation.DelayFrom(now))
	}
	if l.requests != nil {
		reserve(l.requests, 1)
	}
	if l.tokens != nil {
		reserve(l.tokens, tokens)
	}
	for {
		delay = max(delay, l.pause(clock.now()))
		if delay <= 0 {
			return nil
		}
		if err := clock.sleep(ctx, delay); err != nil {
			for _, r := range taken {
				r.CancelAt(clock.now())
			}
			return err
		}
		delay = 0 // but the server may have asked for more while this slept
	}
}

func (l *limiter) release() {
	if l.slots != nil {
		<-l.slots
	}
}

// spent books what a call cost beyond its estimate; later calls wait for it.
func (l *limiter) spent(extra int, now time.Time) {
	if l.tokens != nil && extra > 0 {
		l.tokens.ReserveN(now, min(extra, l.tokens.Burst()))
	}
}

// hold keeps every call of the provider back until then: a server that says
// "in 20 seconds" means all of its caller, not one request.
func (l *limiter) hold(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until.After(l.notBefore) {
		l.notBefore = until
	}
}

func (l *limiter) pause(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.notBefore.Sub(now)
}

// clock is the time as the service sees it; tests bring their own.
type clock struct {
	now   func() time.Time
	sleep func(ctx context.Context, d time.Duration) error
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
