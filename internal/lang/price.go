package lang

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/hashicorp/hcl/v2"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/lang/expr"
	"github.com/penstock-run/penstock/internal/price"
)

const maxPrices = 1 << 20 // bytes of a file of prices

// loadPrices reads the user's file of prices, which is asked before the built-in
// one.
func (l *loader) loadPrices(b *body, name string) {
	if name == "" {
		return
	}
	at := b.expr("prices").Range()
	known := len(l.diags)
	defer func() {
		if len(l.diags) > known {
			l.budgetAt = hcl.Range{} // the prices that it lacks may stand in the file
		}
	}()
	src, err := readBounded(l.fsys, name, maxPrices+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.error(at, badPrices, fmt.Sprintf("There is no file %s. %s", name, cmp.Or(expr.NearFile(l.fsys, name), "Paths are relative to the pipeline's directory.")))
		return
	case err != nil:
		l.error(at, badPrices, fmt.Sprintf("The prices %s could not be read: %s.", name, reason(err)))
		return
	case len(src) > maxPrices:
		l.error(at, badPrices, fmt.Sprintf("%s is longer than 1 MiB.", name))
		return
	}
	table, err := price.Read(src)
	var fault *price.Fault
	switch {
	case errors.As(err, &fault):
		l.files.beside[name] = src
		l.error(rangeOf(name, src, fault.Offset, 1), badPrices, fault.Text)
	case err != nil:
		l.error(at, badPrices, err.Error())
	default:
		l.prices = price.Tables{{Table: table, Name: name}}
	}
}

var priceShape = shape{need: []string{"input", "output"}, may: []string{"cached_input", "cache_write"}}

// ownPrice is the price that stands in a provider's own block; nil: none does.
func (l *loader) ownPrice(b *body) *dag.Price {
	block := b.block("price")
	if block == nil {
		return nil
	}
	q := l.open(block, priceShape)
	p := &dag.Price{Input: q.price("input"), CachedInput: q.price("cached_input"), Output: q.price("output"), From: dag.OwnPrice}
	if !q.has("cached_input") {
		p.CachedInput = p.Input
	}
	p.CacheWrite = &p.Input
	if q.has("cache_write") {
		p.CacheWrite = new(q.price("cache_write"))
	}
	return p
}

// price is an amount of dollars for a million tokens. One that is likely meant
// for another number of them is warned of: a budget would be worth nothing.
func (b *body) price(name string) float64 {
	usd := b.amount(name)
	const low, high = 0.001, price.Dearest
	switch {
	case usd > high:
		b.l.warn(b.expr(name).Range(), unlikelyPrice, fmt.Sprintf("Prices are in dollars for a million tokens, and %s would be more than any model costs. Three dollars for a million are written\n    %s = 3", strconv.FormatFloat(usd, 'f', -1, 64), name))
	case usd > 0 && usd < low:
		b.l.warn(b.expr(name).Range(), unlikelyPrice, fmt.Sprintf("Prices are in dollars for a million tokens, and %s would be less than any model costs. If it is meant for one token, write\n    %s = %s", strconv.FormatFloat(usd, 'f', -1, 64), name, strconv.FormatFloat(math.Round(usd*1e9)/1e3, 'f', -1, 64)))
	}
	return usd
}

// maxTokens is the longest answer that a provider's own configuration allows where a
// stage does not say; 0: it does not say either.
func maxTokens(p *dag.Provider) int64 {
	var config struct {
		MaxTokens *float64 `json:"max_tokens"`
	}
	if p.Config.IsNull() || json.Unmarshal(p.Config.Bytes, &config) != nil || config.MaxTokens == nil {
		return 0
	}
	return int64(max(0, *config.MaxTokens))
}

// longest is how long an answer of a provider's model can be where its stage does
// not say: as its own configuration allows, else by the model. 0: unknown.
func longest(p *dag.Provider, info *dag.PluginInfo, own int64) int {
	if own > 0 {
		return int(own)
	}
	if info.Model == nil || p.Config.IsNull() {
		return 0
	}
	return int(max(0, info.Model(p.Model, p.Config.Bytes).MaxOutputTokens))
}

// checkBudget complains of a budget in dollars that cannot be kept, since what a
// provider costs is not known. Where a cassette answers nothing is paid.
func (l *loader) checkBudget() {
	if l.graph.Pipeline.Budget.USD == 0 || l.budgetAt == (hcl.Range{}) || l.graph.Pipeline.Replay != "" && !l.opts.Live {
		return
	}
	for _, p := range l.graph.Providers {
		if p.Price != nil || p.Plugin == nil || l.plugins[p.Plugin] == nil || !l.asked(p) {
			continue
		}
		l.error(l.budgetAt, unknownPrice, fmt.Sprintf("A budget in dollars needs a price for each model that is asked, and what %q of provider %q costs is not known. Write it, in dollars for a million tokens, into the provider's block:\n    price {\n      input  = …\n      output = …\n    }\nor bound the run by `calls` and `tokens` alone.", p.Model, p.Name))
	}
}

// asked tells whether a provider is lent to a stage.
func (l *loader) asked(p *dag.Provider) bool {
	for _, s := range l.graph.Stages {
		if s.Provider == p {
			return true
		}
	}
	return false
}
