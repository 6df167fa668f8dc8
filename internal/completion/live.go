package completion

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	pb "google.golang.org/protobuf/proto"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// call asks the provider as soon as it may, and again for as long as it has no room
// for the request. Every other error is the caller's: trying again is the matter of
// the stage's retry, and two who try again would multiply. keep is handed an answer
// before its place at the provider is another's. The note tells the trail what was
// waited for.
func (s *Service) call(ctx context.Context, p *dag.Provider, caller Caller, wire *proto.CompletionRequest, r *Request, f *flight, keep func(*proto.CompletionReply)) (reply *proto.CompletionReply, note string) {
	if s.options.Budget.USD > 0 && p.Price == nil {
		return s.failed(failure(proto.ProviderError_QUOTA, "the run has a budget in US dollars, but the price of provider "+p.Name+" is not known: give it a price block")), ""
	}
	limits := s.limiter(p)
	t := &ticket{tokens: r.inputTokens()}
	for {
		if err := limits.enter(ctx, t, f.wait); err != nil {
			return s.failed(waitedInVain(err)), ""
		}
		f.run()
		limits.giveRoom(t)
		reply, o := s.attempt(ctx, p, limits, caller, wire, r, f, t.queued)
		if o.err != nil {
			o.err.Message = redact(p, o.err.Message)
			redactReply(p, reply) // what else it brings is shown, too
			if !o.unsent {
				s.learn(p, r, o.err) // before the next one goes
			}
		}
		if o.err == nil {
			keep(reply) // before the next one goes: a run that is killed loses what is under way, and no more
		}
		again := limits.leave(t, o)
		if o.err == nil {
			s.count(func(c *Counters) { c.Live++ })
			return reply, t.note(p)
		}
		if why := limits.why(); why != nil && transport(o.err.GetKind()) && !o.unheard {
			return s.failed(failure(why.GetKind(), why.GetMessage())), ""
		}
		if !again || ctx.Err() != nil {
			return s.failed(reply), ""
		}
	}
}

// waitedInVain is what a request came to that was never sent, or not again.
func waitedInVain(err error) *proto.CompletionReply {
	if denied := new(deniedError); errors.As(err, &denied) {
		return failure(denied.why.GetKind(), denied.why.GetMessage())
	}
	return interrupted(err)
}

// note tells the trail what a request waited for; empty where it is not worth it.
func (t *ticket) note(p *dag.Provider) string {
	switch waited := Brief(t.waited); {
	case t.refused == 1:
		return fmt.Sprintf("waited %s for provider %s, which refused this once: %s", waited, p.Name, t.said)
	case t.refused > 1:
		return fmt.Sprintf("waited %s for provider %s, which refused this %d times, last: %s", waited, p.Name, t.refused, t.said)
	case t.waited >= worthTelling:
		return fmt.Sprintf("waited %s for its turn at provider %s", waited, p.Name)
	}
	return ""
}

// attempt makes one live call and books what it cost. What a request that waited asks
// for may have been refused to another meanwhile.
func (s *Service) attempt(ctx context.Context, p *dag.Provider, limits *limiter, caller Caller, wire *proto.CompletionRequest, r *Request, f *flight, waited bool) (*proto.CompletionReply, ending) {
	if waited {
		if refused := s.unsupported(ctx, p, r); refused != nil {
			return refused, ending{err: refused.GetError(), unsent: true}
		}
	}
	reserved := worst(r, wire.GetSchema(), p)
	if err := s.budget.reserve(ctx, reserved, f.wait); err != nil {
		reply := interrupted(err)
		if spent := new(spentError); errors.As(err, &spent) {
			reply = failure(proto.ProviderError_QUOTA, spent.text)
		}
		return reply, ending{err: reply.GetError(), unheard: ctx.Err() != nil, unsent: true}
	}
	f.run()
	began := s.clock.now()
	reply, err := caller(ctx, pb.Clone(wire).(*proto.CompletionRequest))
	took := s.clock.now().Sub(began)
	switch {
	case err != nil && ctx.Err() != nil:
		reply = interrupted(context.Cause(ctx))
	case err != nil && dag.KindOf(err) == dag.KindConfig: // its block is wrong, and stays so for every further attempt
		reply = failure(proto.ProviderError_INVALID_REQUEST, err.Error())
	case err != nil:
		reply = failure(proto.ProviderError_UNAVAILABLE, "provider "+p.Name+": "+err.Error())
	case reply == nil:
		reply = failure(proto.ProviderError_UNAVAILABLE, "provider "+p.Name+" gave no reply")
	}
	limits.spent(s.book(ctx, p, reserved, reply).tokens - r.inputTokens())
	// A call that was given up says nothing of its provider, unless its time was over.
	givenUp := ctx.Err() != nil && reply.GetError() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded)
	return reply, ending{err: reply.GetError(), took: took, unheard: givenUp}
}

func (s *Service) limiter(p *dag.Provider) *limiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.limiters[p.Name]
	if !ok {
		l = s.newLimiter(p)
		s.limiters[p.Name] = l
	}
	return l
}

// EndWaits ends all waiting for providers, now and from now on: a call that cannot
// go at once fails, and what is under way goes on. why completes "it waited when".
func (s *Service) EndWaits(why string) {
	s.mu.Lock()
	if s.over == "" {
		s.over = why
	}
	limiters := slices.Collect(maps.Values(s.limiters))
	s.mu.Unlock()
	for _, l := range limiters {
		l.endWaits(why)
	}
}

// Closed tells why nothing more is asked of a provider now; empty where it is. A
// request that failed on that is not worth another attempt.
func (s *Service) Closed(p *dag.Provider) string {
	s.mu.Lock()
	l := s.limiters[p.Name]
	s.mu.Unlock()
	if l == nil {
		return ""
	}
	return l.why().GetMessage()
}

// fullJitter spreads waits over an interval, so that callers that were refused
// together do not come back together.
func fullJitter(below time.Duration) time.Duration { return rand.N(below + 1) }

func interrupted(err error) *proto.CompletionReply {
	if errors.Is(err, context.DeadlineExceeded) {
		return failure(proto.ProviderError_TIMEOUT, "the deadline passed before the provider answered")
	}
	return failure(proto.ProviderError_UNAVAILABLE, "the request was cancelled")
}
