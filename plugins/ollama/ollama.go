// Package ollama is the bundled provider for Ollama's own API. Its
// OpenAI-compatible door takes neither the size of the context nor the choice
// whether a model thinks, and cuts prompts without a word; this one takes both,
// and tells where an answer may have been cut.
//
// plugins/bundled serves it; a pipeline names it as builtin/ollama.
//
// It refuses to ask twice, and to load or fetch a model: a model that is not
// there is an error.
package ollama

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/penstock-run/penstock/plugins/sdk"
	"github.com/penstock-run/penstock/plugins/wire"
)

// Behaviour stands in the action digest of what the provider answers: raise it
// when the same request may get another answer.
const Behaviour = "ollama/1"

const (
	base            = "http://127.0.0.1:11434"
	standardContext = 8192
)

// Provider is the plugin, ready to be served.
func Provider() sdk.Provider {
	return sdk.Provider{
		Info: sdk.ProviderInfo{
			Name: "ollama", Version: "1", Behaviour: Behaviour, WireVersion: "chat/2", Schema: true, Seed: true,
			Config: append(wire.Fields(base, "OLLAMA_API_KEY", false),
				sdk.Field{Name: "temperature", Type: "number", Doc: "Sampling temperature where a stage gives none, from 0 to 2."},
				sdk.Field{Name: "top_p", Type: "number", Doc: "Nucleus sampling where a stage gives none, from 0 to 1."},
				sdk.Field{Name: "max_tokens", Type: "number", Doc: "The longest answer, thoughts among it, where a stage gives none."},
				sdk.Field{Name: "num_ctx", Type: "number", Default: "8192", Doc: "Tokens of context, prompt and answer together. It is always sent: the server's own default is smaller and cuts prompts without a word."},
				sdk.Field{Name: "think", Type: "bool", Default: "false", Doc: "Whether the model thinks first; with a schema many models then answer what is no JSON."},
				sdk.Field{Name: "keep_alive", Type: "string", Unkeyed: true, Doc: "How long the model stays loaded after a call, such as \"10m\"."},
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
		Peer:  wire.Peer("ollama", base),
	}
}

type config struct {
	wire.Settings
	wire.Defaults
	NumCtx    *float64 `json:"num_ctx"`
	Think     *bool    `json:"think"`
	KeepAlive *string  `json:"keep_alive"`
}

func (c *config) context() int64 {
	if c.NumCtx == nil {
		return standardContext
	}
	return int64(*c.NumCtx)
}

// model is what any model can do here: the server draws its answers itself.
func model(_ string, document []byte) sdk.Model {
	var c config
	if (sdk.ProviderConfig{JSON: document}).Into(&c) != nil {
		return sdk.Model{}
	}
	return sdk.Model{Known: true, Takes: []string{"schema", "seed", "temperature", "top_p", "stop"}, ContextTokens: c.context()}
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
		header.Set("Authorization", "Bearer "+key)
	}
	b.server = b.Server(&check, base, header)
	b.Defaults.Check(&check, 2)
	check.Whole("num_ctx", b.NumCtx, 1)
	check.Model(c.Model, "llama3.2")
	if check.Refused() {
		return nil, check.Err()
	}
	return b, check.Err()
}

// call is the request in the words of the API.
func (b *block) call(r *sdk.CompletionRequest) (*wire.Call, error) {
	var messages []map[string]string
	if r.System != "" {
		messages = append(messages, map[string]string{"role": "system", "content": r.System})
	}
	for _, m := range r.Messages {
		messages = append(messages, map[string]string{"role": m.Role, "content": wire.Text(m)})
	}
	s := b.Sampling(r)
	options := map[string]any{"num_ctx": b.context()}
	wire.Set(options, "temperature", s.Temperature)
	wire.Set(options, "top_p", s.TopP)
	wire.Set(options, "seed", s.Seed)
	wire.Set(options, "num_predict", s.MaxTokens)
	if len(s.Stop) > 0 {
		options["stop"] = s.Stop
	}
	request := map[string]any{"model": b.model, "messages": messages, "stream": true, "options": options, "think": b.Think != nil && *b.Think}
	wire.Set(request, "keep_alive", b.KeepAlive)
	call := &wire.Call{Path: "/api/chat", Request: request, Read: b.read}
	if len(r.Schema) > 0 {
		fit, err := b.schemas.Of(r.Schema, subset.Fit)
		if err != nil {
			return nil, sdk.InvalidRequest("%v", err)
		}
		call.Schema, call.Notes = fit.Schema, fit.Notes()
		request["format"] = fit.Sent(r.Schema)
	}
	return call, nil
}

// chunkJSON is an answer, whole or one line of it.
type chunkJSON struct {
	Model   string `json:"model"`
	Message struct {
		Content string `json:"content"`
	} `json:"message"`
	Done       bool   `json:"done"`
	DoneReason string `json:"done_reason"`
	Prompt     *int64 `json:"prompt_eval_count"`
	Eval       *int64 `json:"eval_count"`
}

func (b *block) read(answer *wire.Answer) (*sdk.CompletionReply, error) {
	var g wire.Gathered
	for line, err := range answer.Lines() { // an answer in one piece is one line
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			continue
		}
		var chunk chunkJSON
		if json.Unmarshal(line, &chunk) != nil {
			return nil, wire.Garbled(line)
		}
		if c, ok := wire.ReadComplaint(line); ok {
			return nil, answer.Complain(c)
		}
		g.Add(chunk.Message.Content)
		if chunk.Done {
			g.Keep(line)
			return b.reply(&g, chunk)
		}
		if g.Flooded() {
			return g.Reply("length"), nil
		}
	}
	return nil, wire.Unfinished(len(g.Text()))
}

func (b *block) reply(g *wire.Gathered, last chunkJSON) (*sdk.CompletionReply, error) {
	switch last.DoneReason {
	case "stop", "length":
	case "":
		return nil, sdk.Unavailable("the server ended its answer without a reason: it was broken off")
	default:
		return nil, sdk.Unavailable("the server ended its answer with done_reason %q and no answer", last.DoneReason)
	}
	reply := g.Reply(last.DoneReason)
	reply.Model = last.Model
	if last.Prompt == nil && last.Eval == nil {
		return reply, nil
	}
	var usage sdk.Usage
	raw := map[string]int64{}
	if last.Prompt != nil {
		usage.Input, raw["prompt_eval_count"] = *last.Prompt, *last.Prompt
	}
	if last.Eval != nil {
		usage.Output, raw["eval_count"] = *last.Eval, *last.Eval
	}
	text, err := json.Marshal(raw)
	if err != nil {
		return nil, sdk.Unavailable("the server's usage: %v", err)
	}
	used, notes := wire.Usage(&usage, text)
	reply.Usage, reply.Notes = used, append(reply.Notes, notes...)
	if used.Input+used.Output >= b.context() {
		reply.FinishReason = "length"
		reply.Notes = append(reply.Notes, fmt.Sprintf("prompt and answer fill the context of %d tokens, so that one of them was cut; raise num_ctx", b.context()))
	}
	return reply, nil
}
