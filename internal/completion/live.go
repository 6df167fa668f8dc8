package completion

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	pb "google.golang.org/protobuf/proto"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

func withDefaults(r dag.Retry) dag.Retry {
	if r.Attempts <= 0 {
		r.Attempts = 4
	}
	if r.Backoff <= 0 {
		r.Backoff = 500 * time.Millisecond
	}
	if r.MaxBackoff <= 0 {
		r.MaxBackoff = 30 * time.Second
	}
	return r
}

// call asks the provider, again after errors that pass, each attempt within
// the limits and the budget.
func (s *Service) call(ctx context.Context, p *dag.Provider, caller Caller, wire *proto.CompletionRequest, r *Request) *proto.CompletionReply {
	limits := s.limiter(p)
	for attempt := 1; ; attempt++ {
		reply := s.attempt(ctx, p, limits, caller, wire, r)
		e := reply.GetError()
		if e == nil {
			s.count(func(c *Counters) { c.Live++ })
			return reply
		}
		e.Message = redact(p, e.Message)
		limits.shutOn(e)
		if !passes(e.GetKind()) || ctx.Err() != nil {
			return s.failed(reply)
		}
		asked := time.Duration(e.GetRetryAfterMillis()) * time.Millisecond
		if asked > 0 {
			limits.hold(s.clock.now().Add(min(asked, s.options.MaxWait)))
		}
		if asked > s.options.MaxWait {
			e.Message += fmt.Sprintf(" (asked to wait %s; at most %s are waited)", asked, s.options.MaxWait)
			return s.failed(reply)
		}
		if attempt >= s.options.Retry.Attempts {
			if attempt > 1 {
				e.Message += fmt.Sprintf(" (after %d attempts)", attempt)
			}
			return s.failed(reply)
		}
		// The wait follows this attempt's own answer, never an earlier one's.
		wait := max(asked, s.jitter(s.backoff(attempt)))
		s.options.Log("debug", fmt.Sprintf("provider %s: %s; attempt %d of %d in %s", p.Name, e.Message, attempt+1, s.options.Retry.Attempts, wait.Round(time.Millisecond)))
		if err := s.clock.sleep(ctx, wait); err != nil {
			return s.failed(interrupted(err))
		}
	}
}

// passes tells which errors are worth another attempt; every other one,
// unknown ones included, is final.
func passes(kind proto.ProviderError_Kind) bool {
	switch kind {
	case proto.ProviderError_RATE_LIMITED, proto.ProviderError_OVERLOADED, proto.ProviderError_TIMEOUT, proto.ProviderError_UNAVAILABLE:
		return true
	}
	return false
}

func (s *Service) backoff(attempt int) time.Duration {
	d := s.options.Retry.Backoff
	for range attempt - 1 {
		if d *= 2; d >= s.options.Retry.MaxBackoff {
			break
		}
	}
	return min(d, s.options.Retry.MaxBackoff)
}

// fullJitter spreads retries over the whole interval, so that callers that
// failed together do not come back together.
func fullJitter(below time.Duration) time.Duration { return rand.N(below + 1) }

// attempt makes one live call and books what it cost.
func (s *Service) attempt(ctx context.Context, p *dag.Provider, limits *limiter, caller Caller, wire *proto.CompletionRequest, r *Request) *proto.CompletionReply {
	if s.options.Budget.USD > 0 && p.Price == nil {
		return failure(proto.ProviderError_QUOTA, "the run has a budget in US dollars, but the price of provider "+p.Name+" is not known: give it a price block")
	}
	if err := limits.acquire(ctx, r.inputTokens(), s.clock); err != nil {
		return interrupted(err)
	}
	defer limits.release()
	if why := limits.why(); why != nil { // it may have come while this one waited
		return failure(why.GetKind(), why.GetMessage())
	}
	reserved := worst(r, p.Price)
	if err := s.budget.reserve(ctx, reserved); err != nil {
		if spent := new(spentError); errors.As(err, &spent) {
			return failure(proto.ProviderError_QUOTA, spent.text)
		}
		return interrupted(err)
	}
	reply, err := caller(ctx, pb.Clone(wire).(*proto.CompletionRequest))
	switch {
	case err != nil && ctx.Err() != nil:
		reply = interrupted(ctx.Err())
	case err != nil:
		reply = failure(proto.ProviderError_UNAVAILABLE, "provider "+p.Name+": "+err.Error())
	case reply == nil:
		reply = failure(proto.ProviderError_UNAVAILABLE, "provider "+p.Name+" gave no reply")
	}
	used := usageOf(reply)
	took := actual(used, p.Price)
	s.budget.settle(reserved, took)
	limits.spent(took.tokens-r.inputTokens(), s.clock.now())
	s.count(func(c *Counters) {
		c.Calls++
		c.USD += took.usd
		c.Usage.Input += used.Input
		c.Usage.CachedInput += used.CachedInput
		c.Usage.CacheWrite += used.CacheWrite
		c.Usage.Output += used.Output
		c.Usage.Reasoning += used.Reasoning
	})
	return reply
}

// usageOf reads what a server says that a call has cost; what cannot be, a
// negative count, counts as nothing.
func usageOf(reply *proto.CompletionReply) Usage {
	u := reply.GetUsage()
	return Usage{
		Input: max(0, u.GetInput()), CachedInput: max(0, u.GetCachedInput()), CacheWrite: max(0, u.GetCacheWrite()),
		Output: max(0, u.GetOutput()), Reasoning: max(0, u.GetReasoning()),
	}
}

func (s *Service) limiter(p *dag.Provider) *limiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.limiters[p.Name]
	if !ok {
		l = newLimiter(p.Limits)
		s.limiters[p.Name] = l
	}
	return l
}

func interrupted(err error) *proto.CompletionReply {
	if errors.Is(err, context.DeadlineExceeded) {
		return failure(proto.ProviderError_TIMEOUT, "the deadline passed before the provider answered")
	}
	return failure(proto.ProviderError_UNAVAILABLE, "the request was cancelled")
}
