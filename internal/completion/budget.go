package completion

import (
	"context"
	"fmt"
	"sync"

	"github.com/penstock-run/penstock/dag"
)

// assumedOutput is reserved for an answer whose request has no max_tokens.
const assumedOutput = 4096

// budget keeps the live calls of a run within what the pipeline allows. What a
// call may cost at worst is reserved before it and settled after it, so that
// calls at the same time cannot each take what is left.
type budget struct {
	limit dag.Budget

	mu      sync.Mutex
	spent   cost
	held    cost          // reserved by calls in flight
	settled chan struct{} // closed and replaced whenever a call settles
}

// cost of calls. A call counts once it is sent, whatever comes of it.
type cost struct {
	calls  int
	tokens int
	usd    float64
}

func (c cost) plus(o cost) cost  { return cost{c.calls + o.calls, c.tokens + o.tokens, c.usd + o.usd} }
func (c cost) minus(o cost) cost { return cost{c.calls - o.calls, c.tokens - o.tokens, c.usd - o.usd} }

func newBudget(limit dag.Budget) *budget {
	return &budget{limit: limit, settled: make(chan struct{})}
}

// spentError says that the budget is spent, and what would help.
type spentError struct{ text string }

func (e *spentError) Error() string { return e.text }

// reserve takes the cost of a call at worst, waiting for calls in flight where
// what they give back may be enough. It fails with a *spentError.
func (b *budget) reserve(ctx context.Context, worst cost) error {
	for {
		b.mu.Lock()
		what := b.over(b.spent.plus(b.held).plus(worst))
		if what == "" {
			b.held = b.held.plus(worst)
			b.mu.Unlock()
			return nil
		}
		hopeless := b.held.calls == 0 || b.over(b.spent.plus(worst)) != ""
		settled := b.settled
		b.mu.Unlock()
		if hopeless {
			return &spentError{b.describe(what, worst)}
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// settle replaces a reservation by what the call has cost.
func (b *budget) settle(worst, actual cost) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = b.held.minus(worst)
	b.spent = b.spent.plus(actual)
	close(b.settled)
	b.settled = make(chan struct{})
}

// over names the first bound that a total is past.
func (b *budget) over(total cost) string {
	switch {
	case b.limit.Calls > 0 && total.calls > b.limit.Calls:
		return "calls"
	case b.limit.Tokens > 0 && total.tokens > b.limit.Tokens:
		return "tokens"
	case b.limit.USD > 0 && total.usd > b.limit.USD:
		return "usd"
	}
	return ""
}

func (b *budget) describe(what string, worst cost) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch what {
	case "calls":
		return fmt.Sprintf("the run's budget of %d calls is spent; raise `calls` in the pipeline's budget block", b.limit.Calls)
	case "tokens":
		return fmt.Sprintf("the run's budget of %d tokens does not cover this call: %d are spent, and it may take %d (raise `tokens` in the pipeline's budget block, or bound the answer with max_tokens)",
			b.limit.Tokens, b.spent.tokens, worst.tokens)
	}
	return fmt.Sprintf("the run's budget of $%.2f does not cover this call: $%.4f are spent, and it may take $%.4f (raise `usd` in the pipeline's budget block, or bound the answer with max_tokens)",
		b.limit.USD, b.spent.usd, worst.usd)
}

// worst is the most that a request is expected to cost.
func worst(r *Request, price *dag.Price) cost {
	input, output := r.inputTokens(), assumedOutput
	if r.Sampling != nil && r.Sampling.MaxTokens != nil {
		output = int(*r.Sampling.MaxTokens)
	}
	c := cost{calls: 1, tokens: input + output}
	if price != nil {
		c.usd = (float64(input)*price.Input + float64(output)*price.Output) / 1e6
	}
	return c
}

// actual is what a call has cost by the usage that the server told.
func actual(u Usage, price *dag.Price) cost {
	c := cost{calls: 1, tokens: int(u.Input + u.Output)}
	if price != nil {
		cached := min(u.CachedInput, u.Input) // some servers count cached tokens beside the input
		c.usd = (float64(u.Input-cached)*price.Input + float64(cached)*price.CachedInput + float64(u.Output)*price.Output) / 1e6
	}
	return c
}
