package completion

import (
	"context"
	"fmt"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// assumedOutput is reserved for an answer that nothing bounds: neither the request,
// nor the provider's block, nor what is known of the model.
const assumedOutput = 4096

// What a server adds to a prompt by itself: the marks of its turns, and the words
// in which a model is told of a schema.
const (
	tokensOfTurn   = 16
	tokensOfSchema = 512
)

// worst is the most that a request may cost. A token has one byte or more, so the
// bytes of the prompt and of the schema bound the input in any language. Usual
// texts have four bytes a token; but an estimate that is too low would let calls
// that are under way together pass the budget, and one that is too high costs a run
// the last call or two.
func worst(r *Request, schema []byte, p *dag.Provider) cost {
	input := r.size() + tokensOfTurn*(1+len(r.Messages))
	if len(schema) > 0 {
		input += len(schema) + tokensOfSchema
	}
	output := assumedOutput
	if p.Longest > 0 {
		output = p.Longest
	}
	if r.Sampling != nil && r.Sampling.MaxTokens != nil {
		output = int(max(0, *r.Sampling.MaxTokens))
	}
	c := cost{calls: 1, tokens: input + output, input: input, output: output}
	if p.Price != nil {
		c.usd = p.Price.AtMost(input, output)
	}
	return c
}

// billOf is what an attempt is billed at. Where the server did not tell, that is
// the most that it may have cost, unless it certainly refused before it began: a
// request that timed out or broke off may be on the vendor's bill all the same.
func billOf(reply *proto.CompletionReply, reserved cost, p *dag.Provider) dag.Bill {
	b := dag.Bill{Attempts: 1}
	u := reply.GetUsage()
	told := u.GetInput() > 0 || u.GetOutput() > 0
	switch {
	case told:
		var doubtful bool
		if b.Tokens, doubtful = tokensOf(u); doubtful {
			b.Estimated = 1
		}
	case reply.GetError() != nil && unbilled(reply.GetError()):
	default:
		b.Tokens = dag.Tokens{Input: reserved.input, Output: reserved.output}
		b.Estimated = 1
	}
	switch {
	case b.Tokens == dag.Tokens{}: // costs nothing at any price
	case p.Price == nil:
		b.Unpriced = 1
	case !told:
		b.USD, b.Price = reserved.usd, p.Price.From
	default:
		b.USD, b.Price = p.Price.Of(b.Tokens), p.Price.From
	}
	return b
}

// tokensOf reads a server's usage by its invariants: a part is not more than its
// whole, and none is below zero. What is not so is taken as far as it can be; its
// plugin may have done so before.
func tokensOf(u *proto.Usage) (t dag.Tokens, doubtful bool) {
	const most = 1 << 40 // more cannot be, and sums must not wrap around
	doubtful = u.GetAdjusted()
	take := func(n, whole int64) int {
		if n < 0 || n > whole {
			doubtful = true
		}
		return int(min(max(0, n), whole))
	}
	t.Input = take(u.GetInput(), most)
	t.Output = take(u.GetOutput(), most)
	t.Cached = take(u.GetCachedInput(), int64(t.Input))
	t.Written = take(u.GetCacheWrite(), int64(t.Input-t.Cached))
	take(u.GetReasoning(), int64(t.Output))
	return t, doubtful
}

// unbilled tells that a call which failed is not on the vendor's bill: because its
// plugin says so, or because servers answer with such an error instead of beginning.
func unbilled(e *proto.ProviderError) bool {
	switch e.GetBilled() {
	case proto.ProviderError_BILLED_NOT:
		return true
	case proto.ProviderError_BILLED_PERHAPS:
		return false
	}
	switch e.GetKind() {
	case proto.ProviderError_RATE_LIMITED, proto.ProviderError_OVERLOADED, proto.ProviderError_AUTH, proto.ProviderError_QUOTA,
		proto.ProviderError_INVALID_REQUEST, proto.ProviderError_CONTEXT_TOO_LONG, proto.ProviderError_NOT_FOUND, proto.ProviderError_SCHEMA_UNSUPPORTED:
		return true
	}
	return false
}

// book settles an attempt with the budget, counts it, and bills it to whoever asked.
func (s *Service) book(ctx context.Context, p *dag.Provider, reserved cost, reply *proto.CompletionReply) cost {
	b := billOf(reply, reserved, p)
	took := cost{calls: 1, tokens: b.Sum(), usd: b.USD}
	s.budget.settle(reserved, took)
	var estimated, passed bool
	s.count(func(c *Counters) {
		c.Calls++
		c.USD += b.USD
		c.Unpriced += b.Unpriced
		c.Estimated += b.Estimated
		c.Usage.Input += int64(b.Input)
		c.Usage.CachedInput += int64(b.Cached)
		c.Usage.CacheWrite += int64(b.Written)
		c.Usage.Output += int64(b.Output)
		c.Usage.Reasoning += max(0, reply.GetUsage().GetReasoning())
		estimated = b.Estimated > 0 && reply.GetError() == nil && s.matters(p) && s.tell("estimated "+p.Name)
		passed = took.tokens > reserved.tokens && (s.options.Budget.Tokens > 0 || s.options.Budget.USD > 0) && s.tell("passed "+p.Name)
	})
	if estimated {
		s.options.Log("warn", fmt.Sprintf("provider %s does not tell what an answer took, or tells what cannot be: such calls are billed at the most that they may have taken", p.Name))
	}
	if passed {
		s.options.Log("warn", fmt.Sprintf("provider %s took %d tokens for a call that %d were reserved for: bound its answers with max_tokens, or a budget can be passed", p.Name, took.tokens, reserved.tokens))
	}
	if s.options.Billed != nil {
		s.options.Billed(ctx, b)
	}
	return took
}

// matters tells whether it makes a difference how many tokens a provider's answers
// took: where they have a price, or the run a bound on them.
func (s *Service) matters(p *dag.Provider) bool {
	return s.options.Budget.Tokens > 0 || p.Price != nil && p.Price.AtMost(1, 1) > 0
}

// tell is true the first time that it is asked for a thing. Service.mu is held.
func (s *Service) tell(what string) bool {
	if s.told[what] {
		return false
	}
	if s.told == nil {
		s.told = map[string]bool{}
	}
	s.told[what] = true
	return true
}
