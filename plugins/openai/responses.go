package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/penstock-run/penstock/plugins/sdk"
	"github.com/penstock-run/penstock/plugins/wire"
)

// responses is the request in the words of the responses API.
func (b *block) responses(r *sdk.CompletionRequest) (*wire.Call, error) {
	var input []map[string]any
	for _, m := range r.Messages {
		kind := "input_text"
		if m.Role == "assistant" {
			kind = "output_text"
		}
		input = append(input, map[string]any{"role": m.Role, "content": []map[string]string{{"type": kind, "text": wire.Text(m)}}})
	}
	request := map[string]any{"model": b.model, "input": input, "store": false}
	if r.System != "" {
		request["instructions"] = r.System
	}
	s := b.Sampling(r)
	wire.Set(request, "temperature", s.Temperature)
	wire.Set(request, "top_p", s.TopP)
	wire.Set(request, "max_output_tokens", s.MaxTokens)
	if b.Effort != nil {
		request["reasoning"] = map[string]any{"effort": *b.Effort}
	}
	if s.Seed != nil || len(s.Stop) > 0 {
		return nil, sdk.InvalidRequest("the responses API takes neither seed nor stop; remove them from the stage, or write dialect { api = \"chat\" }")
	}
	schema, err := b.wireSchema(r.Schema)
	if err != nil {
		return nil, err
	}
	switch format := schema.format(); {
	case format != nil:
		format["type"] = "json_schema"
		request["text"] = map[string]any{"format": format}
	case schema.mode == "json_object":
		request["text"] = map[string]any{"format": map[string]any{"type": "json_object"}}
	}
	if *b.dialect.Stream {
		request["stream"] = true
	}
	b.dialect.add(request)
	return &wire.Call{Path: "/responses", Request: request, Schema: schema.wrapped, Wrapped: schema.wrapped != nil, Notes: schema.notes(), Read: readResponse}, nil
}

type responseJSON struct {
	ID         string          `json:"id"`
	Model      string          `json:"model"`
	Status     string          `json:"status"`
	Error      json.RawMessage `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Output []struct {
		Type    string `json:"type"`
		Content []struct {
			Type    string `json:"type"`
			Text    string `json:"text"`
			Refusal string `json:"refusal"`
		} `json:"content"`
	} `json:"output"`
	Usage json.RawMessage `json:"usage"`
}

func readResponse(answer *wire.Answer) (*sdk.CompletionReply, error) {
	if !answer.Streams() {
		body, err := answer.Whole()
		if err != nil {
			return nil, err
		}
		return wholeResponse(answer, body)
	}
	var g wire.Gathered // of the pieces only how much came, and whether it is worth waiting for
	for event, err := range answer.Events() {
		if err != nil {
			return nil, err
		}
		var e struct {
			Type     string          `json:"type"`
			Delta    json.RawMessage `json:"delta"`
			Response json.RawMessage `json:"response"`
		}
		if json.Unmarshal(event.Data, &e) != nil {
			return nil, wire.Garbled(event.Data)
		}
		switch e.Type {
		case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
			return wholeResponse(answer, e.Response)
		case "error":
			return nil, eventError(answer, event.Data)
		case "response.output_text.delta":
			var piece string
			if json.Unmarshal(e.Delta, &piece) != nil {
				return nil, wire.Garbled(event.Data)
			}
			if !g.Add(piece) {
				return g.Reply("length"), nil
			}
		}
	}
	return nil, wire.Unfinished(len(g.Text()))
}

// eventError is an error in the middle of a stream: its members stand in the
// event itself, or in one of its own.
func eventError(answer *wire.Answer, data []byte) error {
	complaint, ok := wire.ReadComplaint(data)
	if !ok || complaint.Code == "" && complaint.Kind == "" {
		inner, _ := json.Marshal(map[string]json.RawMessage{"error": data})
		if c, ok := wire.ReadComplaint(inner); ok {
			complaint = c
		}
	}
	if complaint.Kind == "error" {
		complaint.Kind = ""
	}
	return answer.Complain(complaint)
}

func wholeResponse(answer *wire.Answer, body []byte) (*sdk.CompletionReply, error) {
	var r responseJSON
	if json.Unmarshal(body, &r) != nil {
		return nil, wire.Garbled(body)
	}
	if wire.Has(r.Error) {
		complaint, _ := wire.ReadComplaint(body)
		e := answer.Complain(complaint)
		if wire.Has(r.Usage) {
			e.Usage, _ = responseUsage(r.Usage)
		}
		return nil, e
	}
	var g wire.Gathered
	g.Keep(body)
	var refusal strings.Builder
	for _, item := range r.Output {
		if item.Type != "message" {
			continue // thoughts, and what later versions may add
		}
		for _, part := range item.Content {
			switch part.Type {
			case "output_text":
				g.Add(part.Text)
			case "refusal":
				refusal.WriteString(part.Refusal)
			}
		}
	}
	finish, note, err := responseEnd(r)
	if err != nil {
		return nil, err
	}
	reply := g.Reply(finish)
	if note != "" {
		reply.Notes = append(reply.Notes, note)
	}
	reply.Model, reply.RequestId, reply.Refusal = r.Model, r.ID, refusal.String()
	if wire.Has(r.Usage) {
		usage, notes := responseUsage(r.Usage)
		reply.Usage, reply.Notes = usage, append(reply.Notes, notes...)
	}
	return reply, nil
}

// responseEnd is how a response ended. Whatever left one incomplete, its text is
// not all of the answer: there are servers that give no reason.
func responseEnd(r responseJSON) (finish, note string, err error) {
	switch {
	case r.Status == "completed":
		return "stop", "", nil
	case r.Status == "incomplete" && r.Incomplete.Reason == "content_filter":
		return "content_filter", "", nil
	case r.Status == "incomplete" && r.Incomplete.Reason == "max_output_tokens":
		return "length", "", nil
	case r.Status == "incomplete":
		return "length", fmt.Sprintf("the server left the response incomplete, for the reason %q", r.Incomplete.Reason), nil
	case r.Status == "":
		return "", "", sdk.Unavailable("the server's answer has no status: it is no response of the responses API")
	}
	return "", "", sdk.Unavailable("the server left the response %s", r.Status)
}

func responseUsage(raw json.RawMessage) (*sdk.Usage, []string) {
	var u struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
		In     struct {
			Cached int64 `json:"cached_tokens"`
			Write  int64 `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		Out struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	}
	if err := json.Unmarshal(raw, &u); err != nil {
		return nil, []string{"the server's usage cannot be read: " + wire.OneLine(string(raw))}
	}
	return wire.Usage(&sdk.Usage{Input: u.Input, CachedInput: u.In.Cached, CacheWrite: u.In.Write, Output: u.Output, Reasoning: u.Out.Reasoning}, raw)
}
