package dag

// OwnPrice is where a price is from that stands in the provider's own block.
const OwnPrice = "price block"

// Price is in US dollars for a million tokens.
type Price struct {
	Input       float64  `json:"input,case:ignore"`        // of tokens that are read
	CachedInput float64  `json:"cached_input,case:ignore"` // of those of them that the server had kept
	CacheWrite  *float64 `json:"cache_write,omitempty"`    // of those of them that the server keeps from now on; nil: an older run's, which took them as Input
	Output      float64  `json:"output,case:ignore"`       // of tokens that are written, those of thought among them
	From        string   `json:"from,omitempty"`           // who says so: OwnPrice, "prices of 2026-01-31", "prices.json of 2026-01-31"
}

// Tokens are what a server counts. Cached and Written are parts of Input, which
// have no token in common.
type Tokens struct {
	Input   int `json:"input_tokens,omitzero"`
	Cached  int `json:"cached_input_tokens,omitzero"` // read from what the server had kept
	Written int `json:"cache_write_tokens,omitzero"`  // kept by the server from now on
	Output  int `json:"output_tokens,omitzero"`       // those of thought among them
}

// Plus adds up.
func (t Tokens) Plus(o Tokens) Tokens {
	return Tokens{t.Input + o.Input, t.Cached + o.Cached, t.Written + o.Written, t.Output + o.Output}
}

// Sum is how many tokens there are, each counted once.
func (t Tokens) Sum() int { return t.Input + t.Output }

// Of is what tokens cost, in US dollars. A part that is more than its whole, as
// older runs may have on record, is taken as the whole: no token costs twice.
func (p *Price) Of(t Tokens) float64 {
	cached := min(t.Cached, t.Input)
	written := min(t.Written, t.Input-cached)
	plain := t.Input - cached - written
	return (float64(plain)*p.Input + float64(cached)*p.CachedInput + float64(written)*p.Written() + float64(t.Output)*p.Output) / 1e6
}

// AtMost is what so many tokens cost when each of those that are read is of the
// dearest kind.
func (p *Price) AtMost(input, output int) float64 {
	dearest := max(p.Input, p.CachedInput, p.Written())
	return (float64(input)*dearest + float64(output)*p.Output) / 1e6
}

// Written is the price of those tokens of the input that the server keeps.
func (p *Price) Written() float64 {
	if p.CacheWrite == nil {
		return p.Input
	}
	return *p.CacheWrite
}

// Bill is what attempts at completions came to, answered or not.
type Bill struct {
	Attempts int `json:"attempts,omitzero"` // times that the provider was asked
	Tokens
	// Estimated is how many of the attempts stand here with the most that they may
	// have cost, since the server did not tell, or with what is left of a count that
	// cannot be.
	Estimated int     `json:"estimated,omitzero"`
	USD       float64 `json:"usd,omitzero"`      // of those attempts whose price is known
	Unpriced  int     `json:"unpriced,omitzero"` // attempts whose price is not known
	Price     string  `json:"price,omitempty"`   // what the last known price was taken from
}

// Add adds another bill.
func (b *Bill) Add(o Bill) {
	b.Attempts += o.Attempts
	b.Tokens = b.Plus(o.Tokens)
	b.Estimated += o.Estimated
	b.USD += o.USD
	b.Unpriced += o.Unpriced
	if o.Price != "" {
		b.Price = o.Price
	}
}

// Cost is the bill in US dollars; nil: some of it is not known.
func (b *Bill) Cost() *float64 {
	if b.Unpriced > 0 {
		return nil
	}
	usd := b.USD
	return &usd
}
