package anthropic

import (
	"encoding/json"
	"slices"

	"github.com/penstock-run/penstock/plugins/sdk"
	"github.com/penstock-run/penstock/plugins/wire"
)

// call is the request in the words of the API.
func (b *block) call(r *sdk.CompletionRequest) (*wire.Call, error) {
	var messages []map[string]any
	for _, m := range r.Messages {
		messages = append(messages, map[string]any{"role": m.Role, "content": wire.Text(m)})
	}
	request := map[string]any{"model": b.model, "messages": messages, "max_tokens": b.mostTokens(), "stream": true}
	if r.System != "" {
		request["system"] = []map[string]any{{"type": "text", "text": r.System}}
	}
	s := b.Sampling(r)
	if s.Seed != nil {
		return nil, sdk.InvalidRequest("the API takes no seed; remove it from the stage")
	}
	if (s.Temperature != nil || s.TopP != nil) && b.version() >= noSampling {
		return nil, sdk.InvalidRequest("version %s of the API takes neither temperature nor top_p; remove them", b.version())
	}
	wire.Set(request, "max_tokens", s.MaxTokens)
	wire.Set(request, "temperature", s.Temperature)
	wire.Set(request, "top_p", s.TopP)
	if len(s.Stop) > 0 {
		request["stop_sequences"] = s.Stop
	}
	if b.Thinking != nil {
		request["thinking"] = map[string]any{"type": *b.Thinking}
	}
	output := map[string]any{}
	wire.Set(output, "effort", b.Effort)
	call := &wire.Call{Path: "/v1/messages", Request: request, Read: read}
	if len(r.Schema) > 0 {
		schema, err := b.schemas.Of(r.Schema, b.shape)
		if err != nil {
			return nil, err
		}
		schema.ask(call, output)
	}
	if len(output) > 0 {
		request["output_config"] = output
	}
	return call, nil
}

// mostTokens is the longest answer where nobody says: the API wants one.
func (b *block) mostTokens() int64 {
	if most := b.size(b.model).Answer; most > 0 {
		return min(most, standardMaxTokens)
	}
	return standardMaxTokens
}

// messageJSON is an answer, whole or as its stream begins.
type messageJSON struct {
	ID      string `json:"id"`
	Model   string `json:"model"`
	Content []struct {
		Type  string          `json:"type"`
		Text  string          `json:"text"`
		Input json.RawMessage `json:"input"`
	} `json:"content"`
	StopReason string          `json:"stop_reason"`
	Usage      json.RawMessage `json:"usage"`
}

// message is what has come of an answer.
type message struct {
	wire.Gathered
	id, model, stop string
	usage           map[string]json.RawMessage
}

func read(answer *wire.Answer) (*sdk.CompletionReply, error) {
	var m message
	if answer.Streams() {
		return m.stream(answer)
	}
	body, err := answer.Whole()
	if err != nil {
		return nil, err
	}
	var whole struct {
		Type string `json:"type"`
		messageJSON
	}
	if json.Unmarshal(body, &whole) != nil {
		return nil, wire.Garbled(body)
	}
	if c, ok := wire.ReadComplaint(body); ok {
		return nil, answer.Complain(c)
	}
	m.Keep(body)
	m.begin(whole.messageJSON)
	m.stop = whole.StopReason
	for _, part := range whole.Content {
		switch part.Type {
		case "text":
			m.Add(part.Text)
		case "tool_use":
			m.Add(string(part.Input))
		}
	}
	return m.reply()
}

func (m *message) begin(start messageJSON) {
	m.id, m.model = start.ID, start.Model
	m.count(start.Usage)
}

// count takes usage as it comes: a stream tells the input at its start and the
// output at its end, and some servers tell all of it twice.
func (m *message) count(raw json.RawMessage) {
	if !wire.Has(raw) {
		return
	}
	if m.usage == nil {
		m.usage = map[string]json.RawMessage{}
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return
	}
	for name, value := range members {
		if wire.Has(value) {
			m.usage[name] = value
		}
	}
}

type eventJSON struct {
	Type    string      `json:"type"`
	Message messageJSON `json:"message"`
	Delta   struct {
		Type       string `json:"type"`
		Text       string `json:"text"`
		Partial    string `json:"partial_json"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage json.RawMessage `json:"usage"`
}

func (m *message) stream(answer *wire.Answer) (*sdk.CompletionReply, error) {
	for event, err := range answer.Events() {
		if err != nil {
			return nil, err
		}
		var e eventJSON
		if json.Unmarshal(event.Data, &e) != nil {
			return nil, wire.Garbled(event.Data)
		}
		switch e.Type {
		case "error":
			c, _ := wire.ReadComplaint(event.Data)
			return nil, answer.Complain(c)
		case "message_start":
			m.begin(e.Message)
		case "content_block_delta":
			if piece := e.Delta.Text + e.Delta.Partial; piece != "" {
				if !m.Add(piece) {
					return m.reply()
				}
				continue // the text holds it
			}
		case "message_delta":
			m.count(e.Usage)
			if e.Delta.StopReason != "" {
				m.stop = e.Delta.StopReason
			}
		case "message_stop":
			return m.reply()
		case "ping":
			continue
		}
		m.Keep(event.Data)
	}
	return nil, wire.Unfinished(len(m.Text()))
}

func (m *message) reply() (*sdk.CompletionReply, error) {
	finish := ""
	switch m.stop {
	case "end_turn", "stop_sequence", "tool_use":
		finish = "stop"
	case "max_tokens", "model_context_window_exceeded":
		finish = "length"
	case "refusal":
		finish = "refusal"
	case "":
		if !m.Flooded() {
			return nil, sdk.Unavailable("the server's answer has no stop_reason: it is no message of the API")
		}
	default:
		return nil, sdk.Unavailable("the server ended its answer with stop_reason %q, which this version does not know", m.stop)
	}
	reply := m.Reply(finish)
	reply.Model, reply.RequestId = m.model, m.id
	if m.usage != nil {
		usage, notes := m.tokens()
		reply.Usage, reply.Notes = usage, append(reply.Notes, notes...)
	}
	return reply, nil
}

// tokens counts: what was read from the cache and written to it stands beside
// the API's input, not in it.
func (m *message) tokens() (*sdk.Usage, []string) {
	raw, err := json.Marshal(m.usage)
	if err != nil {
		return nil, nil
	}
	var u struct {
		Input   int64 `json:"input_tokens"`
		Write   int64 `json:"cache_creation_input_tokens"`
		Read    int64 `json:"cache_read_input_tokens"`
		Output  int64 `json:"output_tokens"`
		Details struct {
			Thinking int64 `json:"thinking_tokens"`
		} `json:"output_tokens_details"`
	}
	if json.Unmarshal(raw, &u) != nil {
		return nil, []string{"the server's usage cannot be read: " + wire.OneLine(string(raw))}
	}
	// The API tells three parts of the input: each is judged before they are one number.
	notes := slices.Concat(wire.Tokens("input that was not cached", &u.Input),
		wire.Tokens("input written to the cache", &u.Write), wire.Tokens("cached input", &u.Read))
	usage, more := wire.Usage(&sdk.Usage{
		Input: u.Input + u.Write + u.Read, CachedInput: u.Read, CacheWrite: u.Write, Output: u.Output, Reasoning: u.Details.Thinking,
	}, raw)
	usage.Adjusted = usage.Adjusted || len(notes) > 0
	return usage, append(notes, more...)
}
