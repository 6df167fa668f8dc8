package gemini

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/penstock-run/penstock/plugins/sdk"
	"github.com/penstock-run/penstock/plugins/wire"
)

// call is the request in the words of the API.
func (b *block) call(r *sdk.CompletionRequest) (*wire.Call, error) {
	var contents []map[string]any
	for _, m := range r.Messages {
		role := m.Role
		if role == "assistant" {
			role = "model"
		}
		contents = append(contents, map[string]any{"role": role, "parts": []map[string]string{{"text": wire.Text(m)}}})
	}
	s := b.Sampling(r)
	generation := map[string]any{}
	wire.Set(generation, "temperature", s.Temperature)
	wire.Set(generation, "topP", s.TopP)
	wire.Set(generation, "seed", s.Seed)
	wire.Set(generation, "maxOutputTokens", s.MaxTokens)
	if len(s.Stop) > 0 {
		generation["stopSequences"] = s.Stop
	}
	if thinking := b.thinking(); len(thinking) > 0 {
		generation["thinkingConfig"] = thinking
	}
	call := &wire.Call{
		Path:    "/v1beta/models/" + url.PathEscape(strings.TrimPrefix(b.model, "models/")) + ":streamGenerateContent?alt=sse",
		Request: map[string]any{"contents": contents}, Read: read,
	}
	if r.System != "" {
		call.Request["systemInstruction"] = map[string]any{"parts": []map[string]string{{"text": r.System}}}
	}
	if len(r.Schema) > 0 {
		fit, err := b.schemas.Of(r.Schema, subset.Fit)
		if err != nil {
			return nil, sdk.InvalidRequest("%v", err)
		}
		call.Schema, call.Notes = fit.Schema, fit.Notes()
		generation["responseMimeType"] = "application/json"
		generation["responseJsonSchema"] = fit.Sent(r.Schema)
	}
	if len(generation) > 0 {
		call.Request["generationConfig"] = generation
	}
	return call, nil
}

func (b *block) thinking() map[string]any {
	thinking := map[string]any{}
	if b.ThinkingBudget != nil {
		thinking["thinkingBudget"] = int64(*b.ThinkingBudget)
	}
	wire.Set(thinking, "thinkingLevel", b.ThinkingLevel)
	return thinking
}

// chunkJSON is an answer, whole or one piece of it.
type chunkJSON struct {
	Candidates []struct {
		Content struct {
			Parts []struct {
				Text    string `json:"text"`
				Thought bool   `json:"thought"`
			} `json:"parts"`
		} `json:"content"`
		FinishReason  string `json:"finishReason"`
		FinishMessage string `json:"finishMessage"`
	} `json:"candidates"`
	Feedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage      json.RawMessage `json:"usageMetadata"`
	Model      string          `json:"modelVersion"`
	ResponseID string          `json:"responseId"`
}

// content is what has come of an answer.
type content struct {
	wire.Gathered
	id, model, finish, said, blocked string
	usage                            json.RawMessage
}

func read(answer *wire.Answer) (*sdk.CompletionReply, error) {
	var c content
	if !answer.Streams() {
		body, err := answer.Whole()
		if err != nil {
			return nil, err
		}
		c.Keep(body)
		if err := c.take(answer, body); err != nil {
			return nil, err
		}
		return c.reply()
	}
	for event, err := range answer.Events() {
		if err != nil {
			return nil, err
		}
		before := len(c.Text())
		if err := c.take(answer, event.Data); err != nil {
			return nil, err
		}
		if c.Flooded() {
			break
		}
		if len(c.Text()) == before || c.finish != "" {
			c.Keep(event.Data)
		}
	}
	return c.reply()
}

// take takes a whole answer or a piece of one.
func (c *content) take(answer *wire.Answer, body []byte) error {
	var chunk chunkJSON
	if json.Unmarshal(body, &chunk) != nil {
		return wire.Garbled(body)
	}
	if complaint, ok := wire.ReadComplaint(body); ok {
		return answer.Complain(complaint)
	}
	keep := func(to *string, value string) {
		if value != "" {
			*to = value
		}
	}
	keep(&c.id, chunk.ResponseID)
	keep(&c.model, chunk.Model)
	keep(&c.blocked, chunk.Feedback.BlockReason)
	if wire.Has(chunk.Usage) {
		c.usage = chunk.Usage
	}
	if len(chunk.Candidates) == 0 {
		return nil
	}
	first := chunk.Candidates[0]
	keep(&c.finish, first.FinishReason)
	keep(&c.said, first.FinishMessage)
	for _, part := range first.Content.Parts {
		if !part.Thought {
			c.Add(part.Text)
		}
	}
	return nil
}

func (c *content) reply() (*sdk.CompletionReply, error) {
	finish, note := "", ""
	switch c.finish {
	case "STOP":
		finish = "stop"
	case "MAX_TOKENS":
		finish = "length"
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE":
		finish, note = "content_filter", "the server withheld the answer: "+c.finish
	case "":
		switch {
		case c.blocked != "":
			finish, note = "content_filter", "the server refused the prompt: "+c.blocked
		case !c.Flooded():
			return nil, wire.Unfinished(len(c.Text()))
		}
	default:
		return nil, sdk.Unavailable("the server ended its answer with finishReason %s: %s", c.finish, wire.OneLine(c.said))
	}
	reply := c.Reply(finish)
	reply.Model, reply.RequestId = c.model, c.id
	if note != "" {
		reply.Notes = append(reply.Notes, note)
	}
	if c.usage != nil {
		usage, notes := tokens(c.usage)
		reply.Usage, reply.Notes = usage, append(reply.Notes, notes...)
	}
	return reply, nil
}

// tokens counts: thoughts stand beside the API's candidates, what tools said
// beside its prompt.
func tokens(raw json.RawMessage) (*sdk.Usage, []string) {
	var u struct {
		Prompt     int64 `json:"promptTokenCount"`
		Tools      int64 `json:"toolUsePromptTokenCount"`
		Cached     int64 `json:"cachedContentTokenCount"`
		Candidates int64 `json:"candidatesTokenCount"`
		Thoughts   int64 `json:"thoughtsTokenCount"`
	}
	if json.Unmarshal(raw, &u) != nil {
		return nil, []string{"the server's usage cannot be read: " + wire.OneLine(string(raw))}
	}
	return wire.Usage(&sdk.Usage{Input: u.Prompt + u.Tools, CachedInput: u.Cached, Output: u.Candidates + u.Thoughts, Reasoning: u.Thoughts}, raw)
}
