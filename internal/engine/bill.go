package engine

import (
	"context"
	"sync"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/host"
)

// bills are what the completions of visits cost, until the visits are recorded. An
// action is what they are kept by: a visit that is tried again has one bill, with
// the attempts in vain on it.
type bills struct {
	mu sync.Mutex
	of map[dag.Digest]dag.Bill
}

// billed takes what an attempt cost; what nobody's visit asked for is the run's alone.
func (b *bills) billed(ctx context.Context, bill dag.Bill) {
	action, ok := host.Action(ctx)
	if !ok {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of == nil {
		b.of = map[dag.Digest]dag.Bill{}
	}
	all := b.of[action]
	all.Add(bill)
	b.of[action] = all
}

// take gives the bill of an action, once.
func (b *bills) take(action dag.Digest) dag.Bill {
	b.mu.Lock()
	defer b.mu.Unlock()
	bill := b.of[action]
	delete(b.of, action)
	return bill
}
