// Package gemini is the bundled provider for Google's Gemini API.
//
// plugins/bundled serves it; a pipeline names it as builtin/gemini.
//
// It refuses to ask twice: a call is one HTTP request, and what comes of it is
// told in the words of the plugin protocol. The key travels in a header, never
// in an address.
package gemini

import (
	"context"
	"net/http"
	"strings"

	"github.com/penstock-run/penstock/plugins/sdk"
	"github.com/penstock-run/penstock/plugins/wire"
)

// Behaviour stands in the action digest of what the provider answers: raise it
// when the same request may get another answer.
const Behaviour = "gemini/1"

const base = "https://generativelanguage.googleapis.com"

// Provider is the plugin, ready to be served.
func Provider() sdk.Provider {
	return sdk.Provider{
		Info: sdk.ProviderInfo{
			Name: "gemini", Version: "1", Behaviour: Behaviour, WireVersion: "generate-content/2", Schema: true, Seed: true,
			Config: append(wire.Fields(base, "GEMINI_API_KEY", true),
				sdk.Field{Name: "temperature", Type: "number", Doc: "Sampling temperature where a stage gives none, from 0 to 2."},
				sdk.Field{Name: "top_p", Type: "number", Doc: "Nucleus sampling where a stage gives none, from 0 to 1."},
				sdk.Field{Name: "max_tokens", Type: "number", Doc: "The longest answer, thoughts among it, where a stage gives none."},
				sdk.Field{Name: "thinking_budget", Type: "number", Doc: "The most tokens of thought; 0: none, -1: as the model likes."},
				sdk.Field{Name: "thinking_level", Type: "string", Doc: "How hard the model thinks, as the server names its levels, such as \"low\"; not with thinking_budget."},
			),
		},
		Configure: func(_ context.Context, c sdk.ProviderConfig) (sdk.Completer, error) {
			b, err := configure(c)
			if b == nil {
				return nil, err
			}
			return b.server.Completer(b.call), err
		},
		Model: model,
		Peer:  wire.Peer("gcp.gemini", base),
	}
}

type config struct {
	wire.Settings
	wire.Defaults
	ThinkingBudget *float64 `json:"thinking_budget"`
	ThinkingLevel  *string  `json:"thinking_level"`
}

// sizes are those of models that are surely known; the API bounds prompt and answer
// apart, so that no context stands here.
var sizes = map[string]wire.Size{
	"gemini-2.5-pro": {Answer: 65_536}, "gemini-2.5-flash": {Answer: 65_536}, "gemini-2.5-flash-lite": {Answer: 65_536},
	"gemini-2.0-flash": {Answer: 8_192}, "gemini-2.0-flash-lite": {Answer: 8_192},
}

// model is what a model can do: of the vendor's own server also how long its answers are.
func model(name string, document []byte) sdk.Model {
	m := sdk.Model{Known: true, Takes: []string{"schema", "seed", "temperature", "top_p", "stop"}}
	var c config
	if (sdk.ProviderConfig{JSON: document}).Into(&c) == nil && c.BaseURL == nil {
		m.MaxOutputTokens = wire.SizeOf(sizes, strings.TrimPrefix(name, "models/")).Answer
	}
	return m
}

// block is one provider block, ready to call.
type block struct {
	config
	model   string
	server  *wire.Server
	schemas wire.Memo[*wire.Fit]
}

// configure makes a block ready. One that its user is only warned of can be called:
// it comes with an error that says so.
func configure(c sdk.ProviderConfig) (*block, error) {
	b := &block{model: c.Model}
	if err := c.Into(&b.config); err != nil {
		return nil, err
	}
	var check wire.Check
	header := http.Header{}
	if key := b.Key(&check); key != "" {
		header.Set("X-Goog-Api-Key", key)
	} else {
		check.Complain("api_key", "The key is missing", "Set it, as in api_key = env(\"GEMINI_API_KEY\"), or to any text for a server of your own that wants none.")
	}
	b.server = b.Server(&check, base, header)
	b.Defaults.Check(&check, 2)
	check.Whole("thinking_budget", b.ThinkingBudget, -1)
	if b.ThinkingBudget != nil && b.ThinkingLevel != nil {
		check.Complain("thinking_level", "Two ways to say it", "Write thinking_budget or thinking_level, not both.")
	}
	check.Model(c.Model, "gemini-2.5-flash")
	if check.Refused() {
		return nil, check.Err()
	}
	return b, check.Err()
}
