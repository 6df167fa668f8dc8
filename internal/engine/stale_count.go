package engine

import (
	"slices"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/staging"
)

// noCost is the cost of nothing, which is known.
func noCost() Cost { return Cost{Calls: new(int), Tokens: new(int), USD: new(float64)} }

// add adds up; what is not known of a part is not known of the whole.
func (c *Cost) add(o Cost) {
	c.Actions += o.Actions
	c.Calls = sum(c.Calls, o.Calls)
	c.Tokens = sum(c.Tokens, o.Tokens)
	c.USD = sum(c.USD, o.USD)
}

func sum[T int | float64](a, b *T) *T {
	if a == nil || b == nil {
		return nil
	}
	s := *a + *b
	return &s
}

// recorded is an action that was made with a stage's earlier recipe.
type recorded struct {
	now   dag.Digest // what its digest is with the recipe of now
	facts dag.Facts
}

// count finds the recorded actions of every line, less those that were made
// with the newer recipe before: an edit that is taken back costs nothing.
func (c *staleness) count(store *staging.Store) error {
	type asked struct {
		stage *dag.Stage
		now   dag.Digest // zero: the recipe has not changed
	}
	by := map[dag.Digest][]asked{}
	for _, s := range c.Is.Graph.Stages {
		if c.lines[s.Name] == nil {
			continue
		}
		a := asked{stage: s}
		was, ok := c.was[s.Name]
		if !ok {
			was = c.is[s.Name] // what a stage of another name has left
		}
		if now := dag.SumParts(c.is[s.Name]); now != dag.SumParts(was) {
			a.now = now
		}
		by[dag.SumParts(was)] = append(by[dag.SumParts(was)], a)
	}
	found := map[*dag.Stage][]recorded{}
	err := store.Actions(func(r *staging.Action) bool {
		for _, a := range by[r.Recipe] {
			if len(by[r.Recipe]) > 1 && a.stage.Name != r.Stage {
				continue // stages with one recipe: the action is that one's which made it
			}
			x := recorded{facts: r.Facts}
			if !a.now.IsZero() {
				x.now = dag.ActionDigest(a.now, r.Input, r.Sample)
			}
			found[a.stage] = append(found[a.stage], x)
		}
		return true
	})
	if err != nil {
		return err
	}
	for _, s := range c.Is.Graph.Stages {
		if c.lines[s.Name] == nil {
			continue
		}
		cost := noCost()
		for _, r := range found[s] {
			if !r.now.IsZero() {
				_, known, err := store.Action(r.now)
				if err != nil {
					return err
				}
				if known {
					continue
				}
			}
			cost.add(costOf(s, r.facts))
		}
		if s.Provider != nil && slices.Contains(c.lines[s.Name].Perhaps, isNew) {
			cost = Cost{} // nothing is recorded that would tell
		}
		c.lines[s.Name].Cost = cost
	}
	return nil
}

// costOf is what an action of a stage costs when it is asked anew.
func costOf(s *dag.Stage, f dag.Facts) Cost {
	cost := noCost()
	cost.Actions = 1
	if s.Provider == nil {
		return cost
	}
	if calls := callsPerVisit(s); calls > 0 {
		*cost.Calls = calls
	} else {
		cost.Calls = nil
	}
	if f.Calls > 0 && f.Input+f.OutTokens == 0 {
		cost.Tokens, cost.USD = nil, nil // the server did not say
		return cost
	}
	*cost.Tokens = f.Input + f.OutTokens
	p := s.Provider.Price
	if p == nil {
		cost.USD = nil
		return cost
	}
	*cost.USD = p.Of(answered(&f))
	return cost
}
