// Package openai is the bundled provider for servers that speak OpenAI's chat
// completions: its description and its configuration, so that a pipeline that
// names it is checked, planned and replayed without a key.
//
// plugins/bundled serves it; a pipeline names it as builtin/openai.
//
// It refuses to call: this version has no client for the wire yet, and every
// completion is answered as unavailable, with a text that says so.
package openai

import (
	"context"
	"fmt"
	"net/url"

	"github.com/penstock-run/penstock/plugins/sdk"
)

// Behaviour stands in the action digest of what the provider answers: raise it
// when the same request may get another answer.
const Behaviour = "openai/1"

// Provider is the plugin, ready to be served.
func Provider() sdk.Provider {
	return sdk.Provider{
		Info: sdk.ProviderInfo{
			Name: "openai", Version: "1", Behaviour: Behaviour, WireVersion: "chat-completions/1", Schema: true, Seed: true,
			Config: []sdk.Field{
				{Name: "api_key", Type: "string", Sensitive: true, Doc: "The key; servers of one's own may need none. `env(\"OPENAI_API_KEY\")`"},
				{Name: "base_url", Type: "string", Default: `"https://api.openai.com/v1"`, Doc: "Address of an OpenAI-compatible server, up to and with /v1."},
				{Name: "headers", Type: "map(string)", Default: "{}", Sensitive: true, Doc: "Headers to send besides, for gateways."},
				{Name: "temperature", Type: "number", Doc: "Sampling temperature where a stage gives none, from 0 to 2."},
				{Name: "top_p", Type: "number", Doc: "Nucleus sampling where a stage gives none, from 0 to 1."},
				{Name: "max_tokens", Type: "number", Doc: "The longest answer where a stage gives none."},
				{Name: "reasoning_effort", Type: "string", Doc: "For reasoning models: as the server names its levels, such as \"low\"."},
			},
		},
		Configure: func(_ context.Context, c sdk.ProviderConfig) (sdk.Completer, error) {
			if err := check(c); err != nil {
				return nil, err
			}
			return func(context.Context, *sdk.CompletionRequest) (*sdk.CompletionReply, error) {
				return nil, sdk.Unavailable("builtin/openai cannot call a server in this version: replay a cassette, or use builtin/echo or a provider plugin of your own")
			}, nil
		},
	}
}

type config struct {
	APIKey      *string           `json:"api_key"`
	BaseURL     *string           `json:"base_url"`
	Headers     map[string]string `json:"headers"`
	Temperature *float64          `json:"temperature"`
	TopP        *float64          `json:"top_p"`
	MaxTokens   *float64          `json:"max_tokens"`
	Effort      *string           `json:"reasoning_effort"`
}

func check(c sdk.ProviderConfig) error {
	var conf config
	if err := c.Into(&conf); err != nil {
		return err
	}
	var diags sdk.Diagnostics
	complain := func(attribute, summary, format string, args ...any) {
		diags = append(diags, sdk.Diagnostic{Summary: summary, Detail: fmt.Sprintf(format, args...), Path: []string{attribute}})
	}
	if conf.BaseURL != nil {
		if u, err := url.Parse(*conf.BaseURL); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			complain("base_url", "Not an address", "%q is not the address of a server; write one like \"http://127.0.0.1:8000/v1\".", *conf.BaseURL)
		}
	}
	if t := conf.Temperature; t != nil && (*t < 0 || *t > 2) {
		complain("temperature", "The number is out of range", "temperature is a number from 0 to 2, not %v.", *t)
	}
	if p := conf.TopP; p != nil && (*p < 0 || *p > 1) {
		complain("top_p", "The number is out of range", "top_p is a number from 0 to 1, not %v.", *p)
	}
	if n := conf.MaxTokens; n != nil && (*n < 1 || *n != float64(int64(*n))) {
		complain("max_tokens", "The number is out of range", "max_tokens is a whole number from 1, not %v.", *n)
	}
	if c.Model == "" {
		diags = append(diags, sdk.Diagnostic{Summary: "The model is missing", Detail: `Name one in the provider block, as in model = "gpt-5-mini".`})
	}
	if len(diags) > 0 {
		return diags
	}
	return nil
}
