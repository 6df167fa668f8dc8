package engine

import (
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
)

// StageCost bounds what the visits of a stage, or all that ask one provider, may
// cost. Nil stands for a bound that is not known, never for nothing.
type StageCost struct {
	Calls  *int     `json:"max_calls"`         // completions; 0 for a stage that asks nobody
	Input  *int     `json:"max_input_tokens"`  // of all calls
	Output *int     `json:"max_output_tokens"` // of all calls
	USD    *float64 `json:"max_usd"`
}

// PlanCost bounds what a run may cost.
type PlanCost struct {
	Calls     Most           `json:"max_calls"`
	Input     Most           `json:"max_input_tokens"`
	Output    Most           `json:"max_output_tokens"`
	USD       MostUSD        `json:"max_usd"`
	Providers []ProviderPlan `json:"providers"`
	// Prices names the price table: the digest of all prices of all providers,
	// the empty text where none of them has any.
	Prices string `json:"price_table,omitempty"`
}

// Most is a maximum. With Unknown it is the part of it that is known.
type Most struct {
	Value   int  `json:"value"`
	Unknown bool `json:"at_least,omitzero"`
}

// MostUSD is a maximum in US dollars. With Unknown it is the part of it that is
// known; with Budget the run's budget is what bounds it.
type MostUSD struct {
	Value   float64 `json:"value"`
	Unknown bool    `json:"at_least,omitzero"`
	Budget  bool    `json:"by_budget,omitzero"`
}

// ProviderPlan is what the visits that ask one provider may cost.
type ProviderPlan struct {
	Provider string     `json:"provider"`
	Model    string     `json:"model"`
	Replayed bool       `json:"replayed,omitzero"` // a cassette answers: nothing is paid
	Price    *dag.Price `json:"price"`             // nil: unknown
	StageCost
}

// total works out what a run may ask for.
func (p *Planned) total(e *engine) {
	p.follow(e.Graph)
	replaying := e.replaying()
	byProvider := map[*dag.Provider]*ProviderPlan{}
	for _, provider := range e.Graph.Providers {
		zero := StageCost{new(int), new(int), new(int), new(float64)}
		byProvider[provider] = &ProviderPlan{Provider: provider.Name, Model: provider.Model, Replayed: replaying, Price: provider.Price, StageCost: zero}
	}
	for i, s := range e.Graph.Stages {
		line := &p.Stages[i]
		line.Why, line.Unasked = p.reasons[s].inOrder(), p.missing[s]-p.reasons[s].asked
		cost, known := planCostOf(s, line, replaying)
		line.StageCost = cost
		p.Calls.add(cost.Calls)
		p.Input.add(cost.Input)
		p.Output.add(cost.Output)
		p.USD.Value += known
		p.USD.Unknown = p.USD.Unknown || cost.USD == nil
		if of := byProvider[s.Provider]; of != nil {
			of.Calls, of.Input, of.Output = sumOf(of.Calls, cost.Calls), sumOf(of.Input, cost.Input), sumOf(of.Output, cost.Output)
			of.USD = sumOf(of.USD, cost.USD)
		}
	}
	for _, provider := range e.Graph.Providers {
		p.Providers = append(p.Providers, *byProvider[provider])
	}
	p.Prices = priceTable(e.Graph)
	if !replaying {
		p.capped(e.Graph)
	}
}

// capped lets the pipeline's budget bound the money, where each provider that
// may be asked has a price: the run asks nothing more that could pass it.
func (p *Planned) capped(g *dag.Graph) {
	limit := g.Pipeline.Budget.USD
	if limit == 0 || !p.USD.Unknown && p.USD.Value <= limit {
		return
	}
	for _, provider := range p.Providers {
		if provider.Price == nil && (provider.Calls == nil || *provider.Calls > 0) {
			return
		}
	}
	p.USD = MostUSD{Value: limit, Budget: true}
}

func (m *Most) add(n *int) {
	if n == nil {
		m.Unknown = true
		return
	}
	m.Value += *n
}

// sumOf two bounds; nil where one is not known.
func sumOf[N int | float64](a, b *N) *N {
	if a == nil || b == nil {
		return nil
	}
	n := *a + *b
	return &n
}

// planCostOf bounds a stage's cost, and gives the part of the money that is known.
//
// A visit asks as often as its plugin says. An attempt that fails has one call
// more that may have been paid for, those before it are answered from staging by
// the next attempt; and one attempt more than the stage allows may be lost with
// a process that crashes.
func planCostOf(s *dag.Stage, line *StagePlan, replaying bool) (StageCost, float64) {
	none := StageCost{new(int), new(int), new(int), new(float64)}
	if s.Provider == nil || line.Run == 0 && line.Maybe != nil && *line.Maybe == 0 {
		return none, 0
	}
	var c StageCost
	if replaying {
		c.USD = new(float64)
	}
	each := callsPerVisit(s)
	if each == 0 || line.Maybe == nil {
		return c, 0
	}
	if !replaying {
		each += max(1, s.Retry.Attempts)
	}
	calls := each * (line.Run + *line.Maybe)
	c.Calls = &calls
	longest, bounded := longestAnswer(s)
	if !bounded {
		return c, 0
	}
	output := calls * longest
	c.Output = &output
	price := s.Provider.Price
	if replaying || price == nil {
		return c, 0
	}
	usd := price.AtMost(0, output)
	if price.AtMost(1, 0) == 0 {
		c.USD = &usd
	}
	return c, usd
}

// callsPerVisit is how many completions a visit asks for at most, 0 where the
// plugin does not say.
func callsPerVisit(s *dag.Stage) int {
	if s.Info == nil || s.Info.CallsPerVisit == nil {
		return 0
	}
	return s.Info.CallsPerVisit(s.Config.Bytes)
}

// longestAnswer is max_tokens of the stage's configuration, else what its provider's
// answers are bounded by: what the run reserves, too.
func longestAnswer(s *dag.Stage) (tokens int, ok bool) {
	var config struct {
		MaxTokens *float64 `json:"max_tokens"`
	}
	if !s.Config.IsNull() && json.Unmarshal(s.Config.Bytes, &config) == nil && config.MaxTokens != nil {
		return int(*config.MaxTokens), *config.MaxTokens >= 1
	}
	return s.Provider.Longest, s.Provider.Longest > 0
}

// priceTable names the prices of all providers, in order of their names.
func priceTable(g *dag.Graph) string {
	type row struct {
		Name, Model string
		Price       *dag.Price
	}
	var rows []row
	for _, p := range g.Providers {
		if p.Price != nil {
			rows = append(rows, row{p.Name, p.Model, p.Price})
		}
	}
	if len(rows) == 0 {
		return ""
	}
	slices.SortFunc(rows, func(a, b row) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	b, err := json.Marshal(rows, json.Deterministic(true))
	if err != nil {
		panic("engine: a price that is not JSON: " + err.Error())
	}
	return dag.Sum(b).Short()
}
