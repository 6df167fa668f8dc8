// Package openai is the bundled provider for servers that speak one of OpenAI's
// two APIs: chat completions, as most servers and gateways do, and responses.
// Where such servers differ, a block named dialect says so.
//
// plugins/bundled serves it; a pipeline names it as builtin/openai.
//
// It refuses to ask twice: a call is one HTTP request, and what comes of it is
// told in the words of the plugin protocol.
package openai

import (
	"context"
	"net/http"
	"net/url"

	"github.com/penstock-run/penstock/plugins/sdk"
	"github.com/penstock-run/penstock/plugins/wire"
)

// Behaviour stands in the action digest of what the provider answers: raise it
// when the same request may get another answer.
const Behaviour = "openai/2"

const (
	officialHost = "api.openai.com"
	officialBase = "https://" + officialHost + "/v1"
)

// Provider is the plugin, ready to be served.
func Provider() sdk.Provider {
	return sdk.Provider{
		Info: sdk.ProviderInfo{
			Name: "openai", Version: "2", Behaviour: Behaviour, WireVersion: "openai/3", Schema: true, Seed: true,
			Config: append(wire.Fields(officialBase, "OPENAI_API_KEY", false),
				sdk.Field{Name: "temperature", Type: "number", Doc: "Sampling temperature where a stage gives none, from 0 to 2."},
				sdk.Field{Name: "top_p", Type: "number", Doc: "Nucleus sampling where a stage gives none, from 0 to 1."},
				sdk.Field{Name: "max_tokens", Type: "number", Doc: "The longest answer where a stage gives none."},
				sdk.Field{Name: "reasoning_effort", Type: "string", Doc: "For reasoning models: as the server names its levels, such as \"low\"."},
				dialectField(),
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
		Peer: wire.Peer("openai", officialBase),
	}
}

type config struct {
	wire.Settings
	wire.Defaults
	Effort  *string  `json:"reasoning_effort"`
	Dialect *dialect `json:"dialect"`
}

// block is one provider block, ready to call.
type block struct {
	config
	dialect dialect
	model   string
	server  *wire.Server
	schemas wire.Memo[*wireSchema]
}

// wireSchema is the schema of a request as the server gets it.
func (b *block) wireSchema(schema []byte) (*wireSchema, error) {
	if len(schema) == 0 {
		return &wireSchema{}, nil
	}
	return b.schemas.Of(schema, b.dialect.schema)
}

// configure makes a block ready. One that its user is only warned of can be called:
// it comes with an error that says so.
func configure(c sdk.ProviderConfig) (*block, error) {
	b := &block{model: c.Model}
	if err := c.Into(&b.config); err != nil {
		return nil, err
	}
	var check wire.Check
	b.dialect = b.config.Dialect.filled(&check, official(b.config.Settings))
	header := http.Header{}
	if key := b.Key(&check); key != "" {
		if b.dialect.authHeader() == "Authorization" {
			key = "Bearer " + key
		}
		header.Set(b.dialect.authHeader(), key)
	}
	b.server = b.Server(&check, officialBase, header)
	b.Defaults.Check(&check, 2)
	check.Model(c.Model, "gpt-5-mini")
	if check.Refused() {
		return nil, check.Err()
	}
	return b, check.Err()
}

// official tells whether a block calls OpenAI itself, whose models are known.
func official(s wire.Settings) bool {
	if s.BaseURL == nil {
		return true
	}
	u, err := url.Parse(*s.BaseURL)
	return err == nil && u.Hostname() == officialHost
}

// call is the request in the words of the API that the dialect names.
func (b *block) call(r *sdk.CompletionRequest) (*wire.Call, error) {
	if b.dialect.responses() {
		return b.responses(r)
	}
	return b.chat(r)
}
