package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/completion"
	"github.com/penstock-run/penstock/internal/host"
)

// failed takes a visit that failed for want of infrastructure: it is tried
// again as the stage's retry says, else its items are parked.
func (e *engine) failed(v *visit, r *host.Result) {
	switch {
	case (r.Crashed || r.Shared) && !v.alone:
		v.alone = true // whose fault it was shows when each of them runs by itself
		v.attempts--   // and is judged by that, not by the number of attempts
		e.enqueue(v)
		return
	case r.Crashed:
		e.guilty(v, r)
		return
	}
	if most := longestAsked(v.stage); r.RetryAfter > most {
		r.Err.Err = fmt.Errorf("%w; it asks to be tried again in %s, and no longer than %s is waited (`max_backoff` of the stage's retry): run again then", r.Err.Err, completion.Brief(r.RetryAfter), completion.Brief(most))
		e.abandon(v, r.Err)
		return
	}
	if !retriable(r.Err.Code) || v.attempts >= max(1, v.stage.Retry.Attempts) || e.stop.visits || e.withoutProvider(v.stage.Provider) {
		e.abandon(v, r.Err)
		return
	}
	e.later(v, backoff(v.stage.Retry, v.attempts, r.RetryAfter))
}

// guilty fails the items whose visit crashed its plugin a second time, alone.
func (e *engine) guilty(v *visit, r *host.Result) {
	r.Failure = dag.Fail(dag.EPluginCrash, "%v", r.Err)
	m, err := e.record(v, r)
	if err != nil {
		e.abandon(v, err)
		return
	}
	e.release(v)
	for _, w := range v.waiters {
		if step, err := w.item.t.Next(); err == nil && e.apply(w.item, step, m) {
			e.ready = append(e.ready, w.item)
		}
	}
}

// withoutProvider reports whether nothing more is asked of a provider, so that no attempt
// of a stage that needs it would fare better.
func (e *engine) withoutProvider(p *dag.Provider) bool {
	return p != nil && e.completions != nil && e.completions.Closed(p) != ""
}

// retriable reports whether asking again may help.
func retriable(code dag.Code) bool {
	switch code {
	case dag.EAuth, dag.EQuota, dag.EReplayMiss, dag.EStore, dag.EPlugin:
		return false
	}
	return true
}

// abandon parks the items of a visit that is not made.
func (e *engine) abandon(v *visit, err error) {
	e.release(v)
	for _, w := range v.waiters {
		e.park(w.item, stageError(v.stage, err))
	}
}

// stageError names the stage once, and lets a provider without quota or
// credentials end the run.
func stageError(s *dag.Stage, err error) error {
	named := &dag.Error{Op: "stage", Subject: s.Name, Kind: dag.KindOf(err), Err: err}
	var cause *dag.Error
	if errors.As(err, &cause) {
		named.Code, named.Hint = cause.Code, cause.Hint
		if cause.Subject == s.Name && cause.Err != nil {
			named.Err = cause.Err
		}
	}
	var refused *host.ConfigError
	if errors.As(err, &refused) {
		named.Err = errors.New(refused.At(s.ConfigPos))
	}
	if named.Code == dag.EReplayMiss && named.Hint == "" {
		named.Hint = "record it: penstock run --live --record FILE"
	}
	if named.Code == dag.EAuth || named.Code == dag.EQuota {
		named.Kind = dag.KindStopped
	}
	return named
}

func (e *engine) later(v *visit, wait time.Duration) {
	e.book(v).begin(time.Now())
	e.waiting[v] = time.AfterFunc(wait, func() { e.send(retryNow{v}) })
}

// backoff is full jitter over a doubling bound, never less than what the
// server asked for.
func backoff(r dag.Retry, attempt int, asked time.Duration) time.Duration {
	base, most := time.Second, 30*time.Second
	if r.Backoff != nil {
		base = *r.Backoff
	}
	if r.MaxBackoff != nil {
		most = *r.MaxBackoff
	}
	bound := min(base, most)
	for range attempt - 1 {
		if bound > most/2 {
			bound = most
			break
		}
		bound *= 2
	}
	return max(asked, time.Duration(rand.Int64N(int64(bound)+1)))
}

// longestAsked is the longest wait that a stage's plugin may ask for: no run waits for
// tomorrow because a program says so. What the stage's provider may ask for, its plugin
// may pass on.
func longestAsked(s *dag.Stage) time.Duration {
	most := time.Minute
	if s.Retry.MaxBackoff != nil {
		most = max(most, *s.Retry.MaxBackoff)
	}
	if p := s.Provider; p != nil && p.Limits.MaxWait != nil {
		most = max(most, *p.Limits.MaxWait)
	}
	return most
}
