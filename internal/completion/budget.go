package completion

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/penstock-run/penstock/dag"
)

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

	input, output int // parts of the tokens of a reservation
}

func (c cost) plus(o cost) cost {
	return cost{calls: c.calls + o.calls, tokens: c.tokens + o.tokens, usd: c.usd + o.usd}
}

func (c cost) minus(o cost) cost {
	return cost{calls: c.calls - o.calls, tokens: c.tokens - o.tokens, usd: c.usd - o.usd}
}

func newBudget(limit dag.Budget) *budget {
	return &budget{limit: limit, settled: make(chan struct{})}
}

// spentError says that the budget is spent, and what would help.
type spentError struct{ text string }

func (e *spentError) Error() string { return e.text }

// reserve takes the cost of a call at worst, waiting for calls in flight where
// what they give back may be enough; wait is called before it does. It fails with a
// *spentError.
func (b *budget) reserve(ctx context.Context, worst cost, wait func()) error {
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
		wait()
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
	if b.held = b.held.minus(worst); b.held.calls == 0 {
		b.held = cost{} // what adding and taking away has left of a dollar
	}
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
		return b.says(what, fmt.Sprintf("%d calls", b.limit.Calls), b.spent.calls, b.held.calls, b.held.calls > 0, worst.calls)
	case "tokens":
		return b.says(what, fmt.Sprintf("%d tokens", b.limit.Tokens), b.spent.tokens, b.held.tokens, b.held.tokens > 0, worst.tokens)
	}
	return b.says(what, dollars(b.limit.USD), dollars(b.spent.usd), dollars(b.held.usd), b.held.usd > 0, dollars(worst.usd))
}

// says is what people are told, alike for each kind of budget: its figures, and
// what to write to go on.
func (b *budget) says(what, limit string, spent, held any, holds bool, worst any) string {
	reserved := ""
	if holds {
		reserved = fmt.Sprintf("%v are reserved for calls under way, ", held)
	}
	text := fmt.Sprintf("the run's budget of %s does not cover this call: %v are spent, %sand it may take %v; raise `%s` in the pipeline's budget block", limit, spent, reserved, worst, what)
	if what != "calls" {
		text += ", or bound the answer with max_tokens"
	}
	return text
}

// dollars is an amount to the millionth of a dollar, without zeros that say nothing.
func dollars(usd float64) string {
	text := strconv.FormatFloat(usd, 'f', 6, 64)
	return "$" + text[:len(text)-4] + strings.TrimRight(text[len(text)-4:], "0")
}
