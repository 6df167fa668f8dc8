package openai

import (
	"encoding/json"
	"strings"

	"github.com/penstock-run/penstock/plugins/sdk"
	"github.com/penstock-run/penstock/plugins/wire"
)

// chat is the request in the words of chat completions.
func (b *block) chat(r *sdk.CompletionRequest) (*wire.Call, error) {
	var messages []map[string]string
	if r.System != "" {
		messages = append(messages, map[string]string{"role": *b.dialect.System, "content": r.System})
	}
	for _, m := range r.Messages {
		messages = append(messages, map[string]string{"role": m.Role, "content": wire.Text(m)})
	}
	request := map[string]any{"model": b.model, "messages": messages}
	s := b.Sampling(r)
	wire.Set(request, "temperature", s.Temperature)
	wire.Set(request, "top_p", s.TopP)
	wire.Set(request, *b.dialect.MaxTokens, s.MaxTokens)
	wire.Set(request, "reasoning_effort", b.Effort)
	if s.Seed != nil && !*b.dialect.Seed {
		return nil, sdk.InvalidRequest("the stage gives a seed, which the dialect of this server does not take (dialect { seed = false })")
	}
	wire.Set(request, "seed", s.Seed)
	if len(s.Stop) > 0 {
		request["stop"] = s.Stop
	}
	schema, err := b.wireSchema(r.Schema)
	if err != nil {
		return nil, err
	}
	switch format := schema.format(); {
	case format != nil:
		request["response_format"] = map[string]any{"type": "json_schema", "json_schema": format}
	case schema.mode == "json_object":
		request["response_format"] = map[string]any{"type": "json_object"}
	}
	if *b.dialect.Stream {
		request["stream"] = true
		if *b.dialect.Usage {
			request["stream_options"] = map[string]any{"include_usage": true}
		}
	}
	b.dialect.add(request)
	return &wire.Call{Path: "/chat/completions", Request: request, Schema: schema.wrapped, Wrapped: schema.wrapped != nil, Notes: schema.notes(), Read: readChat}, nil
}

// chatJSON is an answer, whole or one piece of it.
type chatJSON struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Message      chatText `json:"message"`
		Delta        chatText `json:"delta"`
		FinishReason string   `json:"finish_reason"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
}

type chatText struct {
	Content json.RawMessage `json:"content"` // a text, or parts of one
	Refusal string          `json:"refusal"`
}

// text is the content's text. Parts of another type, such as thoughts, are none of it.
func (t chatText) text() string {
	if len(t.Content) == 0 { // of message and delta, one is there
		return ""
	}
	var text string
	if json.Unmarshal(t.Content, &text) == nil {
		return text
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(t.Content, &parts) != nil {
		return ""
	}
	var all strings.Builder
	for _, p := range parts {
		if p.Type == "text" {
			all.WriteString(p.Text)
		}
	}
	return all.String()
}

// chatAnswer is what has come of an answer.
type chatAnswer struct {
	wire.Gathered
	id, model, refusal, finish string
	usage                      json.RawMessage
}

func readChat(answer *wire.Answer) (*sdk.CompletionReply, error) {
	var a chatAnswer
	if !answer.Streams() {
		body, err := answer.Whole()
		if err != nil {
			return nil, err
		}
		a.Keep(body)
		if err := a.take(answer, body); err != nil {
			return nil, err
		}
		return a.reply()
	}
	marked := false
	for event, err := range answer.Events() {
		if err != nil {
			return nil, err
		}
		if string(event.Data) == "[DONE]" {
			marked = true
			break
		}
		before := len(a.Text())
		if err := a.take(answer, event.Data); err != nil {
			return nil, err
		}
		if a.Flooded() {
			break
		}
		if len(a.Text()) == before {
			a.Keep(event.Data)
		}
	}
	if !marked && a.finish == "" && !a.Flooded() {
		return nil, wire.Unfinished(len(a.Text()))
	}
	return a.reply()
}

// take takes a whole answer or a piece of one.
func (a *chatAnswer) take(answer *wire.Answer, body []byte) error {
	var c chatJSON
	if err := json.Unmarshal(body, &c); err != nil {
		return wire.Garbled(body)
	}
	if wire.Has(c.Error) {
		complaint, _ := wire.ReadComplaint(body)
		return answer.Complain(complaint)
	}
	a.id, a.model = either(c.ID, a.id), either(c.Model, a.model)
	if wire.Has(c.Usage) {
		a.usage = c.Usage
	}
	if len(c.Choices) == 0 {
		return nil
	}
	choice := c.Choices[0]
	a.finish = either(choice.FinishReason, a.finish)
	a.refusal += choice.Message.Refusal + choice.Delta.Refusal
	a.Add(choice.Message.text() + choice.Delta.text())
	return nil
}

func (a *chatAnswer) reply() (*sdk.CompletionReply, error) {
	if a.finish == "" && !a.Flooded() {
		return nil, sdk.Unavailable("the server's answer has no choice with a finish_reason: it is no chat completion")
	}
	reply := a.Reply(finishReason(a.finish))
	reply.Model, reply.RequestId, reply.Refusal = a.model, a.id, a.refusal
	if a.usage != nil {
		usage, notes := chatUsage(a.usage)
		reply.Usage, reply.Notes = usage, append(reply.Notes, notes...)
	}
	return reply, nil
}

// finishReason translates the names that servers have for the end of an answer.
func finishReason(word string) string {
	switch word {
	case "stop", "eos", "eos_token", "stop_sequence", "end_turn":
		return "stop"
	case "length", "max_tokens", "model_length":
		return "length"
	}
	return word
}

func chatUsage(raw json.RawMessage) (*sdk.Usage, []string) {
	var u struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Hit        int64 `json:"prompt_cache_hit_tokens"`
		In         struct {
			Cached int64 `json:"cached_tokens"`
			Write  int64 `json:"cache_write_tokens"`
		} `json:"prompt_tokens_details"`
		Out struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	if err := json.Unmarshal(raw, &u); err != nil {
		return nil, []string{"the server's usage cannot be read: " + wire.OneLine(string(raw))}
	}
	if u.In.Cached == 0 {
		u.In.Cached = u.Hit
	}
	return wire.Usage(&sdk.Usage{
		Input: u.Prompt, CachedInput: u.In.Cached, CacheWrite: u.In.Write, Output: u.Completion, Reasoning: u.Out.Reasoning,
	}, raw)
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
