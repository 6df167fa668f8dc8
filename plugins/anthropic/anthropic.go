// Package anthropic is the bundled provider for Anthropic's Messages API.
//
// plugins/bundled serves it; a pipeline names it as builtin/anthropic.
//
// It refuses to ask twice: a call is one HTTP request, and what comes of it is
// told in the words of the plugin protocol.
package anthropic

import (
	"context"
	"net/http"

	"github.com/penstock-run/penstock/plugins/sdk"
	"github.com/penstock-run/penstock/plugins/wire"
)

// Behaviour stands in the action digest of what the provider answers: raise it
// when the same request may get another answer.
const Behaviour = "anthropic/2"

const (
	base = "https://api.anthropic.com"

	standardVersion = "2023-06-01"
	noSampling      = "2026-10-21" // from here on the API takes no temperature and no top_p

	standardMaxTokens = 8192
)

// Provider is the plugin, ready to be served.
func Provider() sdk.Provider {
	return sdk.Provider{
		Info: sdk.ProviderInfo{
			Name: "anthropic", Version: "2", Behaviour: Behaviour, WireVersion: "messages/3", Schema: true,
			Config: append(wire.Fields(base, "ANTHROPIC_API_KEY", true),
				sdk.Field{Name: "version", Type: "string", Default: `"` + standardVersion + `"`, Doc: "The API's version, a date, as the header anthropic-version tells it."},
				sdk.Field{Name: "temperature", Type: "number", Doc: "Sampling temperature where a stage gives none, from 0 to 1; versions of the API from " + noSampling + " on take none."},
				sdk.Field{Name: "top_p", Type: "number", Doc: "Nucleus sampling where a stage gives none, from 0 to 1; versions of the API from " + noSampling + " on take none."},
				sdk.Field{Name: "max_tokens", Type: "number", Default: "8192", Doc: "The longest answer, thoughts among it, where a stage gives none; the server wants one."},
				sdk.Field{Name: "effort", Type: "string", Doc: "How hard the model thinks, as the server names its levels, such as \"low\"."},
				sdk.Field{Name: "thinking", Type: "string", Doc: "Whether the model thinks first: \"adaptive\" or \"disabled\"."},
				sdk.Field{Name: "schema", Type: "string", Default: `"auto"`, Doc: "How the schema of the answer is sent: \"native\", \"tool\" (a tool that must be called, for models before structured outputs) or \"none\"; \"auto\" goes by the model and the schema."},
			),
		},
		Configure: func(_ context.Context, c sdk.ProviderConfig) (sdk.Completer, error) {
			b, err := configure(c)
			if b == nil {
				return nil, err
			}
			return b.server.Completer(b.call), err
		},
		Model: model, Schema: told,
		Peer: wire.Peer("anthropic", base),
	}
}

type config struct {
	wire.Settings
	wire.Defaults
	Version  *string `json:"version"`
	Effort   *string `json:"effort"`
	Thinking *string `json:"thinking"`
	Schema   *string `json:"schema"`
}

// block is one provider block, ready to call.
type block struct {
	config
	model   string
	server  *wire.Server
	schemas wire.Memo[*shape]
}

// configure makes a block ready. One that its user is only warned of can be called:
// it comes with an error that says so.
func configure(c sdk.ProviderConfig) (*block, error) {
	b := &block{model: c.Model}
	if err := c.Into(&b.config); err != nil {
		return nil, err
	}
	var check wire.Check
	header := http.Header{"Anthropic-Version": {b.version()}}
	if key := b.Key(&check); key != "" {
		header.Set("X-Api-Key", key)
	} else {
		check.Complain("api_key", "The key is missing", "Set it, as in api_key = env(\"ANTHROPIC_API_KEY\"), or to any text for a server of your own that wants none.")
	}
	b.server = b.Server(&check, base, header)
	b.Defaults.Check(&check, 1)
	check.OneOf("thinking", b.Thinking, "adaptive", "disabled")
	check.OneOf("schema", b.Schema, "auto", "native", "tool", "none")
	check.Model(c.Model, "claude-sonnet-4-5")
	if check.Refused() {
		return nil, check.Err()
	}
	return b, check.Err()
}

func (c *config) version() string {
	if c.Version == nil {
		return standardVersion
	}
	return *c.Version
}

// sizes are those of models that are surely known. Contexts that a header makes
// larger are left out.
var sizes = map[string]wire.Size{
	"claude-opus-4-1": {Context: 200_000, Answer: 32_000}, "claude-opus-4": {Context: 200_000, Answer: 32_000}, "claude-opus-4-0": {Context: 200_000, Answer: 32_000},
	"claude-sonnet-4-5": {Answer: 64_000}, "claude-sonnet-4": {Answer: 64_000}, "claude-sonnet-4-0": {Answer: 64_000},
	"claude-haiku-4-5": {Context: 200_000, Answer: 64_000}, "claude-3-5-haiku": {Context: 200_000, Answer: 8_192},
	"claude-3-opus": {Context: 200_000, Answer: 4_096}, "claude-3-haiku": {Context: 200_000, Answer: 4_096},
}

// size is that of a model of the vendor's own server.
func (c *config) size(model string) wire.Size {
	if c.BaseURL != nil {
		return wire.Size{}
	}
	return wire.SizeOf(sizes, model)
}

// model is what a model can do under a configuration.
func model(name string, document []byte) sdk.Model {
	var c config
	if (sdk.ProviderConfig{JSON: document}).Into(&c) != nil {
		return sdk.Model{}
	}
	m := sdk.Model{Known: true, Takes: []string{"schema", "stop"}}
	if c.version() < noSampling {
		m.Takes = append(m.Takes, "temperature", "top_p")
	}
	size := c.size(name)
	m.ContextTokens, m.MaxOutputTokens = size.Context, size.Answer
	return m
}
